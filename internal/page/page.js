"use strict";
// Shows where a number comes from beside it.
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

  function fill(link) {
    var cell = link.closest("td"), line = link.closest("tr"), table = link.closest("article").id;
    var at = Array.prototype.indexOf.call(line.querySelectorAll("td"), cell);
    var head = line.closest("table").querySelectorAll("th[data-f]")[at];
    var name = head.querySelector("code").textContent, beside = cell.querySelector("i");
    pop.textContent = "";
    add("p", line.dataset.r, "row");
    add("p", head.firstChild.textContent.trim(), "head");
    add("p", "Value " + (link.title || link.textContent));
    if (beside) add("p", beside.textContent);
    if (cell.dataset.d) add("p", "Difference " + cell.dataset.d + (cell.dataset.s ? " (" + cell.dataset.s + " SEs)" : ""));
    var why = [cell.dataset.k, cell.dataset.n].filter(Boolean).join(": ");
    if (why) add("p", why);
    add("p", head.dataset.f || "As stored.", "formula");
    add("code", "speceval explain " + [table, line.dataset.r, name].map(quoted).join(" "), "cmd");
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
    e.preventDefault();
    fill(link);
    pop.showPopover();
    place(link);
  });
})();
