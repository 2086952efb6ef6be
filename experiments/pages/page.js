// Draws the charts and sorts the tables; the library is in the script before.
for (const figure of document.querySelectorAll("figure")) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const options = { mode: "vega-lite", renderer: "svg", actions: false };
  await vegaEmbed(figure.querySelector(".plot"), spec, options);
}

function sort(heading) {
  const table = heading.closest("table");
  const rising = heading.getAttribute("aria-sort") !== "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const key = (row) => row.cells[heading.cellIndex].dataset.key;
  const numeric = heading.classList.contains("number");
  const compare = (a, b) => {
    if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1; // What is unknown comes last.
    const order = numeric && !isNaN(a) && !isNaN(b) ? a - b : a.localeCompare(b);
    return rising ? order : -order;
  };
  const rows = [...table.tBodies[0].rows];
  rows.sort((one, other) => compare(key(one), key(other)));
  table.tBodies[0].append(...rows);
}

for (const button of document.querySelectorAll("th button"))
  button.addEventListener("click", () => sort(button.parentElement));
document.documentElement.dataset.ready = "";
