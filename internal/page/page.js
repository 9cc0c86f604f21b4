"use strict";
// Shows where a number comes from beside it. Without this the number's link
// leads to the same text further down.
(function () {
  var pop = document.getElementById("pop");
  if (!pop || !pop.showPopover) return;

  function add(tag, text, kind) {
    var e = document.createElement(tag);
    e.textContent = text;
    if (kind) e.className = kind;
    pop.appendChild(e);
    return e;
  }

  function quoted(word) {
    return /^[\w.=\/:@%+,-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";
  }

  function fill(link, target) {
    var column = target.closest(".col");
    pop.textContent = "";
    var line = target.matches("tr") ? target : null;
    var row = line ? line.cells[0].textContent : link.closest("tr").dataset.r;
    add("p", row, "row");
    add("p", column.querySelector("h4 span").textContent, "head");
    if (line) {
      line.querySelectorAll("[data-l]").forEach(function (cell) {
        if (cell.textContent) add("p", cell.dataset.l + " " + cell.textContent);
      });
    } else {
      add("p", "Value " + link.textContent);
    }
    add("p", column.querySelector(".formula").textContent, "formula");
    add("code", "speceval explain " + [column.dataset.t, row, column.dataset.c].map(quoted).join(" "), "cmd");
    var more = add("a", "Files, units and seeds");
    more.href = "#x-" + column.dataset.t;
    more.addEventListener("click", function () { pop.hidePopover(); });
  }

  function place(link) {
    var at = link.getBoundingClientRect(), own = pop.getBoundingClientRect();
    var left = Math.min(Math.max(8, at.left), document.documentElement.clientWidth - own.width - 8);
    var below = at.bottom + 6;
    if (below + own.height > window.innerHeight - 8) below = Math.max(8, at.top - own.height - 6);
    pop.style.left = left + "px";
    pop.style.top = below + "px";
  }

  document.addEventListener("click", function (e) {
    var link = e.target.closest && e.target.closest(".grid td a");
    if (!link || e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    var target = document.getElementById(link.hash.slice(1));
    if (!target || !target.closest(".col")) return;
    e.preventDefault();
    fill(link, target);
    pop.showPopover();
    place(link);
  });
})();
