// What a page owes its readers and lacks: controls without a name, images without a text, headings that skip a
// level, identities that are not unique, and scripts or styles in attributes, which the content policy refuses.
() => {
  const faults = [];
  for (const field of document.querySelectorAll("input:not([type=hidden]):not([hidden]), select, textarea, button")) {
    if (!field.labels?.length && !field.ariaLabel && !field.textContent.trim()) faults.push("no name: " + field.outerHTML);
  }
  for (const image of document.querySelectorAll("svg, img")) {
    if (!image.getAttribute("aria-label") && !image.alt && !image.closest("[role=img][aria-label]")) faults.push("no text: " + image.outerHTML);
  }
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const here = Number(heading.tagName[1]);
    if (here > level + 1) faults.push("skips a level: " + heading.textContent);
    level = here;
  }
  const ids = [...document.querySelectorAll("[id]")].map((item) => item.id);
  for (const id of ids.filter((id, place) => ids.indexOf(id) !== place)) faults.push("twice: " + id);
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  for (const item of document.querySelectorAll("*")) {
    for (const name of item.getAttributeNames()) {
      if (name.startsWith("on") || name === "style") faults.push(name + " in " + item.tagName);
    }
  }
  return faults;
}
