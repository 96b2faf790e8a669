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

// What is typed into the first form goes along with an upload.
document.querySelectorAll("[data-copy]").forEach((copy) => {
  const field = document.getElementById(copy.dataset.copy);
  copy.form.addEventListener("submit", () => { copy.value = field.value; });
});

// A form that tells what was changed since keeps its name on the way back, so that what was sent is not sent a second
// time: browsers ask for the page again, which gives it another.
document.querySelectorAll("input[type=hidden][name=form][data-kept]").forEach((name) => {
  const kept = history.state?.form;
  if (kept) name.value = kept; else history.replaceState({ ...history.state, form: name.value }, "");
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
  const refreshProgress = refreshLater("#progress", 300), refreshTrials = refreshLater("#trials", 2000), refreshAnswer = refreshLater("#answer", 2000);
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
  stream.addEventListener("end", () => { stream.close(); refreshProgress(); refreshTrials(); refreshAnswer(); showLive(false); });
  document.addEventListener("htmx:afterSettle", () => showLive(stream.readyState === EventSource.OPEN));
}
