
setInterval(async function () {
  if (document.hidden) return;
  let there = false;
  try {
    const answer = await fetch(location.href);
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    if (answer.ok && next) { document.querySelector("main").replaceWith(next); there = true; }
  } catch (e) { }
  document.getElementById("gone").hidden = there;
}, 2000);
