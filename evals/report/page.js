// Sorts and filters the table, opens the unit that a link names, and tells what a mark in a chart stands for.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th[data-sort]");
    if (!head) return;
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.cells[head.cellIndex].dataset.v ?? row.cells[head.cellIndex].textContent.trim();
    const numeric = head.dataset.sort === "number";
    const order = (a, b) => numeric ? (parseFloat(value(a)) || -1) - (parseFloat(value(b)) || -1)
                                    : value(a).localeCompare(value(b));
    body.append(...[...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)));
  });
}
const search = document.querySelector("input[type=search]");
search?.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  for (const item of document.querySelectorAll("[data-unit]")) item.hidden = !item.dataset.unit.includes(wanted);
});
const openNamed = () => {
  const unit = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (unit?.tagName === "DETAILS") { unit.open = true; unit.scrollIntoView(); }
};
addEventListener("hashchange", openNamed);
openNamed();
const tip = document.body.appendChild(Object.assign(document.createElement("div"), { id: "tip" }));
const tell = (event) => {
  const mark = event.target.closest?.("[data-tip]");
  tip.style.opacity = mark ? 1 : 0;
  if (!mark) return;
  tip.textContent = mark.dataset.tip;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 8))}px`;
  tip.style.top = `${Math.max(4, event.clientY - box.height - 10)}px`;
};
addEventListener("pointermove", tell, { passive: true });
addEventListener("pointerdown", tell, { passive: true });
