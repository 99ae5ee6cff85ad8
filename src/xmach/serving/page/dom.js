// Elements from data. Children that are strings become text nodes, so a label is never read as markup.

const byId = (id) => document.getElementById(id);

/** An element: `dataset`, `on` (listeners) and `style` are spread, `class` and all else become attributes. */
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "style") for (const [key, css] of Object.entries(value)) node.style.setProperty(key, css);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null));
  return node;
}

/** Text that came from elsewhere, isolated: its direction does not disturb what stands beside it. */
const foreign = (text, properties = {}) => el("bdi", { dir: "auto", ...properties }, String(text));

export { byId, el, foreign };
