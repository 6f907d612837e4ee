// Takes the parts of the page that change by themselves from the same address until nothing is
// under way. What a person types in, or has the focus in, is never replaced.
{
  const note = document.querySelector(".changes");
  const [says, again] = note.children;
  const stopButton = document.createElement("button");
  const started = Date.now();
  const longest = 300_000;

  function end(text, offer) {
    clearInterval(timer);
    removeEventListener("input", typed);
    says.textContent = text;
    if (offer) stopButton.replaceWith(again);
    else stopButton.remove();
  }

  async function update() {
    if (document.hidden) return;
    if (Date.now() - started > longest) return end("This takes longer than usual.", true);
    let page;
    try {
      const answer = await fetch(location.href, { redirect: "error" });
      if (!answer.ok) throw new Error(answer.statusText);
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      return end("This page could not be updated.", true);
    }
    if (!stopButton.isConnected) return;
    let under = page.querySelector(".changes");
    for (const part of document.querySelectorAll("[data-part]")) {
      const next = page.querySelector(`[data-part="${part.dataset.part}"]`);
      if (!next || next.innerHTML === part.innerHTML) continue;
      if (part.contains(document.activeElement)) under = part;
      else part.replaceWith(next);
    }
    const now = document.querySelector("[data-part=head]");
    if (under) return;
    end("Up to date.");
    says.after(Object.assign(document.createElement("span"), { className: "unseen", textContent: now?.innerText ?? "" }));
  }

  const typed = () => end("Updates have stopped, so that what you type stays.", true);
  const timer = setInterval(update, note.dataset.every * 1000);
  addEventListener("input", typed);
  stopButton.type = "button";
  stopButton.textContent = "Stop";
  stopButton.addEventListener("click", () => end("Updates have stopped.", true));
  says.textContent = "This page updates by itself.";
  again.replaceWith(stopButton);
}
