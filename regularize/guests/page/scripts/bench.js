"use strict";
// The bench: what is changed here is computed by the server, and takes its place on the page.
(function () {
  const page = window.regularize ? window.regularize.page : null;
  const bench = () => document.getElementById("bench");
  const shown = () => Number(bench().dataset.version);
  const say = (words) => { document.getElementById("bench-status").textContent = words; };
  let latest = shown();

  // What the server shows now in the place of what stands here; the view stays as it was turned.
  async function again(said) {
    if (!page) { location.reload(); return; }
    const text = await (await fetch("")).text();
    const next = new DOMParser().parseFromString(text, "text/html");
    const height = scrollY, at = document.activeElement, joint = at && at.dataset && at.dataset.change;
    for (const part of ["body > header", "main", "figcaption", "body > footer"])
      document.querySelector(part).replaceWith(next.querySelector(part));
    document.title = next.title;
    page.reload(JSON.parse(next.getElementById("scene").textContent));
    if (joint) document.querySelector(`[data-change="${CSS.escape(joint)}"]`)?.focus({ preventScroll: true });
    scrollTo(0, height);
    if (said) say(said);
    if (latest > shown()) await again(said);
  }

  async function act(what, more) {
    say("working …");
    bench().setAttribute("aria-busy", "true");
    for (const each of bench().querySelectorAll("button, select")) each.disabled = true;
    try {
      const reply = await fetch(what, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(more),
      });
      await again((await reply.json()).said);
    } catch {
      say("The bench does not answer: start `regularize bench` again.");
    }
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("#bench [data-act]");
    if (!button) return;
    const what = button.dataset.act;
    if (what === "cure") act("cure", { number: Number(button.dataset.number) });
    else if (what === "save-as") {
      const path = prompt("Write it to the file (or the folder, with a slash at its end)");
      if (path) act("save", { path });
    } else act(what, {});
  });
  document.addEventListener("change", (event) => {
    const name = event.target.dataset.change;
    if (name !== undefined) act("change", { name, kind: event.target.value });
  });

  const events = new EventSource("events");
  events.onmessage = (event) => {
    const now = JSON.parse(event.data);
    latest = now.version;
    if (latest !== shown() && !bench().hasAttribute("aria-busy")) again(now.said).catch(() => {});
  };
})();
