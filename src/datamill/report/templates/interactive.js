"use strict";
// Puts the interactive chart in the place of each still figure. Without this script the page is complete.
(() => {
  const views = [];

  function listRows(part, rows = []) {
    if (Array.isArray(part)) part.forEach((item) => listRows(item, rows));
    else if (part && typeof part === "object") {
      if (part.data && Array.isArray(part.data.values)) rows.push(...part.data.values);
      if (part.datasets) Object.values(part.datasets).forEach((values) => rows.push(...values));
      Object.entries(part).forEach(([key, item]) => key !== "data" && key !== "datasets" && listRows(item, rows));
    }
    return rows;
  }

  function writeCsv(chart) {
    const rows = listRows(chart).filter((row) => row && typeof row === "object");
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const quote = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
    const line = (cells) => cells.map((cell) => quote(String(cell ?? ""))).join(",");
    return [line(names), ...rows.map((row) => line(names.map((name) => row[name])))].join("\r\n") + "\r\n";
  }

  function breakLines(text, most) {
    return text.split(/\s+/).reduce((lines, word) => {
      const last = lines[lines.length - 1];
      if (last !== undefined && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(word);
      return lines;
    }, []);
  }

  // A saved figure stands alone: what the page says beside it is written below it.
  function addCaption(svg, figure) {
    const box = (svg.getAttribute("viewBox") || "").split(/[\s,]+/).map(Number);
    const [left, top, width, height] = box.length === 4 ? box : [0, 0, Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))];
    const room = Math.max(width, 380);
    const said = [...figure.querySelectorAll("figcaption")].map((part) => part.textContent.trim()).join(" ");
    const lines = breakLines(said, Math.floor(room / 6.1));
    const total = height + 17 * lines.length + 12;
    lines.forEach((line, at) => {
      const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.setAttribute("x", left + 4);
      text.setAttribute("y", top + height + 17 * (at + 1));
      text.setAttribute("font-size", "12");
      text.setAttribute("font-family", "Helvetica Neue, Helvetica, Arial, sans-serif");
      text.setAttribute("fill", "#1c2127");
      text.textContent = line;
      svg.append(text);
    });
    svg.setAttribute("viewBox", `${left} ${top} ${room} ${total}`);
    svg.setAttribute("width", room);
    svg.setAttribute("height", total);
    svg.setAttribute("style", "color:#1c2127;background:#fff");
    return { text: new XMLSerializer().serializeToString(svg), width: room, height: total };
  }

  function drawStill(figure) {
    return addCaption(figure.querySelector(".twin svg").cloneNode(true), figure).text;
  }

  async function drawPixels(figure, view) {
    const parsed = new DOMParser().parseFromString(await view.toSVG(), "image/svg+xml").documentElement;
    const drawn = addCaption(parsed, figure);
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawn.text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * drawn.width;
    canvas.height = 2 * drawn.height;
    const brush = canvas.getContext("2d");
    brush.fillStyle = "#fff";
    brush.fillRect(0, 0, canvas.width, canvas.height);
    brush.drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png");
  }

  function save(name, ending, href) {
    const link = document.createElement("a");
    link.href = href;
    link.download = `${name}.${ending}`;
    link.click();
  }

  function saveText(name, ending, kind, text) {
    const href = URL.createObjectURL(new Blob([text], { type: kind }));
    save(name, ending, href);
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }

  function addMenu(figure, chart, view) {
    const name = figure.dataset.name;
    const choices = {
      SVG: () => saveText(name, "svg", "image/svg+xml", drawStill(figure)),
      PNG: async () => save(name, "png", await drawPixels(figure, view)),
      "data (CSV)": () => saveText(name, "csv", "text/csv", writeCsv(chart)),
    };
    const menu = document.createElement("p");
    menu.className = "save";
    menu.append("Save as ");
    Object.entries(choices).forEach(([label, act]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", act);
      menu.append(button, " ");
    });
    figure.append(menu);
  }

  async function enliven(figure) {
    const chart = JSON.parse(figure.querySelector("script").textContent);
    const { view } = await vegaEmbed(figure.querySelector(".live"), chart, {
      mode: "vega-lite",
      renderer: "svg",
      actions: false,
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    });
    views.push({ view, chart });
    addMenu(figure, chart, view);
    figure.classList.add("is-live");
  }

  function addFilter(legend) {
    const entries = [...legend.querySelectorAll("[data-group]")];
    const update = () => {
      const on = entries.filter((entry) => entry.getAttribute("aria-pressed") === "true");
      const groups = on.map((entry) => entry.dataset.group);
      views
        .filter(({ chart }) => (chart.params || []).some((param) => param.name === "shown"))
        .forEach(({ view }) => view.signal("shown", groups).runAsync());
    };
    const toggle = (entry) => {
      entry.setAttribute("aria-pressed", String(entry.getAttribute("aria-pressed") !== "true"));
      update();
    };
    entries.forEach((entry) => {
      entry.setAttribute("role", "button");
      entry.setAttribute("tabindex", "0");
      entry.setAttribute("aria-pressed", "true");
      entry.addEventListener("click", () => toggle(entry));
      entry.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle(entry);
      });
    });
  }

  async function start() {
    for (const figure of document.querySelectorAll("figure.chart")) {
      try {
        await enliven(figure);
      } catch (error) {
        console.error(`figure ${figure.dataset.name} stays still:`, error);
      }
      // The page answers between two figures.
      await new Promise((resolve) => setTimeout(resolve));
    }
    document.querySelectorAll("ul.legend").forEach(addFilter);
    document.documentElement.dataset.figures = "live";
  }

  start();
})();
