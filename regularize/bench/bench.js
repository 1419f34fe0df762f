"use strict";
// The bench: what is changed here is computed by the server, and the page shown anew as it was seen.
(function () {
  const bench = document.getElementById("bench"), status = document.getElementById("bench-status");
  const view = window.regularize ? window.regularize.page.stage : null;
  const mine = Number(bench.dataset.version), kept = "regularize bench";

  // Where the reader was looking outlives a reload.
  const before = JSON.parse(sessionStorage.getItem(kept) || "null");
  sessionStorage.removeItem(kept);
  if (before) {
    scrollTo(0, before.scroll);
    if (before.focus) document.querySelector(before.focus)?.focus({ preventScroll: true });
    if (before.said) status.textContent = before.said;
    if (before.look && view) {
      Object.assign(view.camera, before.look);
      view.redraw();
    }
  }
  function again(said) {
    const at = document.activeElement, joint = at && at.dataset && at.dataset.change;
    sessionStorage.setItem(kept, JSON.stringify({
      scroll: scrollY,
      focus: joint ? `[data-change="${CSS.escape(joint)}"]` : null,
      look: view ? (({ rotation, center, scale }) => ({ rotation, center, scale }))(view.camera) : null,
      said,
    }));
    location.reload();
  }

  async function act(what, more) {
    status.textContent = "working …";
    bench.setAttribute("aria-busy", "true");
    for (const each of bench.querySelectorAll("button, select")) each.disabled = true;
    let answer;
    try {
      const reply = await fetch(what, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(more),
      });
      answer = await reply.json();
    } catch {
      answer = { said: "The bench does not answer: start `regularize bench` again." };
    }
    again(answer.said);
  }
  bench.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (!button) return;
    const what = button.dataset.act;
    if (what === "cure") act("cure", { number: Number(button.dataset.number) });
    else if (what === "save-as") {
      const path = prompt("Write it to the file (or the folder, with a slash at its end)");
      if (path) act("save", { path });
    } else act(what, {});
  });
  bench.addEventListener("change", (event) => {
    const name = event.target.dataset.change;
    if (name !== undefined) act("change", { name, kind: event.target.value });
  });

  const events = new EventSource("events");
  events.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (now.version !== mine && !bench.hasAttribute("aria-busy")) again(now.said);
  };
})();
