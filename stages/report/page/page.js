"use strict";
// Shows beside a number what `speceval explain` says of it.
(function () {
  var pop = document.getElementById("pop");
  if (!pop.showPopover) return;

  function add(tag, text) {
    if (!text) return;
    var e = document.createElement(tag);
    e.textContent = text;
    pop.appendChild(e);
  }

  function quoted(word) {
    return /^[\w.=\/:@%+,-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";
  }

  function fill(link) {
    var cell = link.closest("td"), line = link.closest("tr"), row = line.querySelector("th").textContent;
    var head = line.closest("table").querySelectorAll("th[data-f]")[cell.cellIndex - 1];
    var source = cell.dataset.s ? cell.dataset.s.split("\t") : [line.closest("article").id, row, head.dataset.c];
    pop.textContent = "";
    add("strong", row + ", " + head.textContent + ": " + link.dataset.e);
    add("p", head.dataset.f);
    add("p", cell.dataset.w);
    add("code", "speceval explain " + source.map(quoted).join(" "));
  }

  document.addEventListener("click", function (e) {
    var link = e.target.closest(".grid td a");
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    fill(link);
    pop.showPopover();
    var at = link.getBoundingClientRect(), own = pop.getBoundingClientRect(), below = at.bottom + 6;
    if (below + own.height > innerHeight - 8) below = Math.max(8, at.top - own.height - 6);
    pop.style.left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - own.width - 8)) + "px";
    pop.style.top = below + "px";
  });
})();
