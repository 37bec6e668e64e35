// Makes and keeps elements. Text is set as text, never read as markup.

export const byId = (id) => document.getElementById(id);

/** Makes an element. `props` are attributes; `class` too; one that starts with `on` listens. */
export function h(tag, props, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child != null));
  return made;
}

/** Sets an element's text where it differs, so that what a person selected stays selected. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets how wide a part of a bar is, in percent. */
export function widen(element, share) {
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  if (element.style.width !== width) element.style.width = width;
}

/**
 * Shows `items` in `parent`, in their order. What was there with the same key stays, with its focus and whether it is
 * open; `update`, where given, brings it up to date.
 */
export function keep(parent, items, key, make, update) {
  const focused = document.activeElement; // an element that is moved loses it
  const before = parent.kept ?? new Map();
  const now = new Map();
  let place = parent.firstChild;
  for (const item of items) {
    const name = key(item);
    const element = before.get(name) ?? make(item);
    update?.(element, item);
    now.set(name, element);
    if (element === place) place = place.nextSibling;
    else parent.insertBefore(element, place);
  }
  for (const [name, element] of before) if (!now.has(name)) element.remove();
  parent.kept = now;
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

/** Words with `names` in code type. */
export const words = (text) => text.split("`").map((part, at) => (at % 2 ? h("code", null, part) : part));

export const key = (name) => h("span", { class: `key c-${name}`, "aria-hidden": "true" });
