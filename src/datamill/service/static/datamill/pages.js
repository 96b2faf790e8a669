// Makes pages more convenient; everything can be read, and nearly everything done, without it.
"use strict";

// A slider beside every percentage, and in words what it means.
function describeShare(dimension) {
  const levels = Number(dimension.dataset.levels), share = Number(dimension.querySelector("[data-share]").value);
  const included = dimension.querySelector("[data-include]").checked;
  const taken = Math.min(levels, Math.max(1, Math.ceil(levels * share / 100 - 1e-9)));
  const words = !included ? "left alone" : share === 0 ? "one level at random" : taken === levels ? `all ${levels}` : `${taken} of ${levels}, at random`;
  dimension.querySelector("[data-taken]").textContent = words;
}

function addSlider(dimension) {
  const number = dimension.querySelector("[data-share]"), include = dimension.querySelector("[data-include]");
  const slider = document.createElement("input");
  slider.type = "range"; slider.min = 0; slider.max = 100; slider.step = 5; slider.value = number.value;
  slider.setAttribute("aria-label", number.getAttribute("aria-label"));
  number.closest(".share").prepend(slider);
  slider.addEventListener("input", () => { number.value = slider.value; include.checked = true; describeShare(dimension); });
  number.addEventListener("input", () => { slider.value = number.value; include.checked = true; describeShare(dimension); });
  include.addEventListener("change", () => describeShare(dimension));
  describeShare(dimension);
}

document.querySelectorAll(".dimension").forEach(addSlider);

// What is chosen in a step stands in its address as well, where a login on the way and a reload find it.
const step = document.getElementById("step");
step?.addEventListener("change", () => {
  const chosen = [...new FormData(step)].filter(([, value]) => typeof value === "string");
  history.replaceState(history.state, "", `?${new URLSearchParams(chosen)}`);
});

// Saves a text field as a file.
document.querySelectorAll("[data-download]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([document.getElementById(button.dataset.download).value], { type: "text/plain" }));
    link.download = "experiment.toml";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
});

// A part that is replaced gives the focus back: to what is the same in it, else to the part itself. Parts settle at once
// (defaultSettleDelay in base.html), so that no key finds the focus gone.
let held = null;
document.addEventListener("htmx:beforeSwap", () => {
  const item = document.activeElement, parts = [];
  for (let place = item; place; place = place.parentElement) if (place.id) parts.push(place.id);
  held = item && item !== document.body ? { item, parts, words: item.textContent.trim() } : null;
});
document.addEventListener("htmx:afterSettle", () => {
  if (!held || held.item.isConnected) return;
  const part = held.parts.map((id) => document.getElementById(id)).find(Boolean);
  if (!part || part.contains(document.activeElement)) return;
  const same = [part, ...part.querySelectorAll(held.item.tagName)].find((item) => item.matches(held.item.tagName) && item.textContent.trim() === held.words);
  if (!same) part.tabIndex = -1;
  (same ?? part).focus({ preventScroll: true });
});

// While the storage is away, a part says so in its place. Parts ask again by themselves; this sends forms again.
let again = null;
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.requestConfig.verb === "post") clearTimeout(again);
  const wait_s = Number(detail.xhr.getResponseHeader("Retry-After"));
  if (detail.xhr.status !== 503 || !wait_s || /^\s*<!doctype/i.test(detail.serverResponse)) return;
  detail.shouldSwap = true;
  detail.isError = false;
  if (detail.requestConfig.verb === "post") again = setTimeout(() => htmx.trigger(detail.requestConfig.elt, "again"), wait_s * 1000);
});

// A part that was asked for and is refused says why where it would stand.
const tellRefusal = ({ detail: { elt, target, xhr } }) => {
  if (!target || !elt.matches("form, aside *")) return;
  let told = xhr.status ? `the coordinator answered with status ${xhr.status}` : "no answer came; the coordinator is away, or what was sent is too large";
  try { told = JSON.parse(xhr.responseText).message || told; } catch { /* A page, or nothing. */ }
  const box = document.createElement("div"), words = document.createElement("p");
  box.className = "message bad";
  box.setAttribute("role", "alert");
  words.textContent = `Not looked at: ${told}. What stands below is from before.`;
  box.append(words);
  const place = document.getElementById(target.id) ?? target;
  place.querySelector(":scope > [role=alert]")?.remove();
  place.prepend(box);
};
document.addEventListener("htmx:responseError", tellRefusal);
document.addEventListener("htmx:sendError", tellRefusal);

// Figures that answer to the mouse come when they are asked for.
document.addEventListener("toggle", (event) => {
  const { frame } = event.target.dataset;
  if (!frame || !event.target.open || event.target.querySelector("iframe")) return;
  const shown = document.createElement("iframe");
  shown.src = frame;
  shown.title = event.target.querySelector("summary").textContent;
  shown.setAttribute("sandbox", "allow-scripts allow-downloads");
  event.target.append(shown);
}, true);

// An experiment's page follows what happens, by server-sent events.
const followed = document.querySelector("[data-stream][data-open=yes]");
if (followed) {
  const missed = new Set();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    missed.forEach((selector) => htmx.trigger(document.querySelector(selector), "refresh"));
    missed.clear();
  });
  const refreshLater = (selector, delay_ms) => {
    let waiting = null;
    return () => {
      waiting ??= setTimeout(() => {
        waiting = null;
        // Who does not look is shown later.
        if (document.hidden) { missed.add(selector); return; }
        const part = document.querySelector(selector);
        // Nothing is replaced under the hands of someone who is just using it.
        if (part && !part.contains(document.activeElement)) htmx.trigger(part, "refresh");
      }, delay_ms);
    };
  };
  const refreshProgress = refreshLater("#progress", 300), refreshTrials = refreshLater("#trials", 2000), refreshAnswer = refreshLater("#answer", 2000), refreshReruns = refreshLater("#reruns", 2000);
  const showLive = (live) => {
    const dot = document.querySelector(".live-dot");
    if (dot) { dot.hidden = false; dot.dataset.live = live ? "on" : "off"; dot.textContent = live ? "live" : "not connected: reload to see what is new"; }
  };
  // Pieces stand by phase, then by number: a script that is over quickly may be told after the next.
  const phases = ["unpack", "isolate", "setup", "run", "collect"];
  const isBefore = (piece, other) => {
    const ranks = [piece, other].map((item) => (phases.indexOf(item.dataset.phase) + 6) % 6);
    return ranks[0] !== ranks[1] ? ranks[0] < ranks[1] : Number(piece.dataset.number) < Number(other.dataset.number);
  };
  const addOutput = (event) => {
    const told = JSON.parse(event.data);
    const place = [...document.querySelectorAll("pre[data-trial]")].find((pre) => pre.dataset.trial === told.trial);
    if (!place) return;
    if (place.dataset.output !== told.attempt) { place.replaceChildren(); place.dataset.output = told.attempt; }
    if (place.querySelector(`[data-number="${Number(told.number)}"]`)) return;
    const atEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 8;
    const piece = document.createElement("span");
    piece.dataset.number = told.number;
    piece.dataset.phase = told.phase;
    piece.textContent = told.text;
    place.insertBefore(piece, [...place.children].find((other) => isBefore(piece, other)) ?? null);
    [...place.children].forEach((item, index, all) => {
      item.toggleAttribute("data-first", all[index - 1]?.dataset.phase !== item.dataset.phase);
    });
    if (atEnd) place.scrollTop = place.scrollHeight;
  };
  const stream = new EventSource(followed.dataset.stream);
  stream.addEventListener("open", () => showLive(true));
  stream.addEventListener("error", () => showLive(false));
  stream.addEventListener("progress", () => { refreshProgress(); refreshTrials(); });
  stream.addEventListener("event", () => { refreshProgress(); refreshAnswer(); });
  stream.addEventListener("output", addOutput);
  stream.addEventListener("end", () => { stream.close(); refreshProgress(); refreshTrials(); refreshAnswer(); refreshReruns(); showLive(false); });
  document.addEventListener("htmx:afterSettle", () => showLive(stream.readyState === EventSource.OPEN));
}
