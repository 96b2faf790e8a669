"""Hands that have a keyboard alone, and what a page owes them: they see where they are, and can go on."""

from __future__ import annotations

from typing import Any

#: So many keys lead nowhere only on a page that holds them.
MOST_KEYS = 400
#: What is called by what it says of itself, its label or its text; where it is, and whether that shows.
_FOCUSED = """() => {
  const item = document.activeElement, label = item.labels?.[0]?.textContent;
  const name = item.getAttribute("aria-label") ?? label ?? item.textContent;
  const style = getComputedStyle(item), box = item.getBoundingClientRect();
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return {
    name: name.replace(/\\s+/g, " ").trim(), tag: item.tagName, kind: item.type ?? "",
    shown: outlined && inside && box.width > 0, lost: item === document.body,
  };
}"""


class Hands:
    """A person at a page with a keyboard and no mouse; each place that they come to has to show."""

    def __init__(self, page: Any) -> None:
        self.page = page

    @property
    def place(self) -> dict[str, Any]:
        """What has the focus: its name, tag and kind; whether that shows, and whether nothing has it."""
        found: dict[str, Any] = self.page.evaluate(_FOCUSED)
        return found

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def follow(self) -> None:
        """Press Enter on what leads to another page, and wait for that."""
        with self.page.expect_navigation():
            self.press("Enter")

    def type(self, text: str) -> None:
        """Type a text in the place of what is selected, as it is in a field that Tab led to."""
        self.page.keyboard.type(text)

    def go_to(self, name: str, *, key: str = "Tab") -> None:
        """Press Tab until the place is called so, or begins so."""
        seen = []
        for _ in range(MOST_KEYS):
            self.press(key)
            place = self.place
            if place["lost"]:
                continue
            assert place["shown"], f"{self.page.url}: nobody sees that {place} has the focus"
            if place["name"] == name or place["name"].startswith(f"{name} "):
                return
            seen.append(place["name"][:40])
        raise AssertionError(f"{self.page.url}: Tab does not lead to {name!r}, but to {seen[:80]}")

    def choose(self, checked: str, wanted: str) -> None:
        """Go to the radio button that is checked, and with the arrows to another one."""
        self.go_to(checked)
        for _ in range(20):
            if self.place["name"].startswith(wanted):
                return
            self.press("ArrowDown")
        raise AssertionError(f"{self.page.url}: no arrow leads to {wanted!r}")

    def select(self, value: str) -> None:
        """Choose a value of the list that has the focus with the arrows."""
        for _ in range(20):
            if self.page.evaluate("document.activeElement.value") == value:
                return
            self.press("ArrowDown")
        raise AssertionError(f"{self.page.url}: no arrow leads to {value!r}")

    def go_around(self) -> list[str]:
        """Press Tab from the beginning of the page to its end; return the names of all places on the way."""
        self.page.evaluate("document.activeElement.blur()")
        names = []
        for _ in range(MOST_KEYS):
            self.press("Tab")
            place = self.place
            if names and (place["lost"] or place["name"] == names[0]):
                return names
            assert place["lost"] or place["shown"], f"{self.page.url}: nobody sees that {place} has the focus"
            assert place["lost"] or place["name"], f"{self.page.url}: {place} has no name"
            names.append(place["name"])
        raise AssertionError(f"{self.page.url}: Tab does not leave {names[-20:]}")
