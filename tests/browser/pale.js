// Text whose contrast to what is behind it is below 4.5 (WCAG 2.1, 1.4.3), where colours are plain.
() => {
  const parse = (text) => text.match(/[0-9.]+/g).map(Number);
  const bend = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const shine = ([r, g, b]) => 0.2126 * bend(r / 255) + 0.7152 * bend(g / 255) + 0.0722 * bend(b / 255);
  const findGround = (item) => {
    for (let place = item; place; place = place.parentElement) {
      const colour = parse(getComputedStyle(place).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const pale = new Set();
  for (const item of document.querySelectorAll("body *")) {
    const says = [...item.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!says || !item.checkVisibility() || item.closest("script, option, .skip")) continue;
    const [low, high] = [shine(parse(getComputedStyle(item).color)), shine(findGround(item))].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) pale.add(`${ratio.toFixed(2)} ${item.tagName}.${item.className} ${item.textContent.trim().slice(0, 30)}`);
  }
  return [...pale];
}
