for (const text of document.querySelectorAll("code.copy")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "action copies";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", () => navigator.clipboard.writeText(text.textContent).then(
    () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 2000); },
    () => getSelection().selectAllChildren(text)));
  text.after(button);
}
