// The offer form. The server decides everything; here the fields that cannot apply are cleared and shut as one types.
(() => {
  const rowOf = (element) => element.closest("[data-row]");
  const field = (row, name) => row.querySelector(`[name$="-${name}"]`);

  function settle(row) {
    const operator = field(row, "operator");
    if (!operator) return;
    const value = field(row, "value");
    const seconds = field(row, "seconds");
    const exists = operator.value === "Exists";
    if (exists) value.value = "";
    value.disabled = exists;
    value.placeholder = exists ? "any" : "empty";
    const forExecute = field(row, "effect").value === "NoExecute";
    if (!forExecute) seconds.value = "";
    seconds.disabled = !forExecute;
    seconds.placeholder = forExecute ? "forever" : "–";
  }

  function renumber(list) {
    const rows = list.querySelectorAll("[data-row]");
    rows.forEach((row, index) => {
      for (const element of row.querySelectorAll("[name], [id], [for], [aria-describedby], [value]")) {
        for (const attribute of ["name", "id", "for", "aria-describedby"]) {
          const text = element.getAttribute(attribute);
          if (text) element.setAttribute(attribute, text.replace(/(tolerations|selector)-\d+-/, `$1-${index}-`));
        }
        if (element.name === "act") element.value = element.value.replace(/\d+$/, index);
      }
    });
    document.querySelector(`[name="${list.dataset.rows}-rows"]`).value = rows.length;
  }

  document.addEventListener("change", (event) => {
    const row = rowOf(event.target);
    if (row) settle(row);
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[name=act]");
    if (!button) return;
    const [act, kind] = button.value.split(":");
    const list = document.querySelector(`[data-rows="${kind}"]`);
    if (act === "add" && list.querySelectorAll("[data-row]").length < Number(list.dataset.most)) {
      event.preventDefault();
      const template = document.getElementById(`blank-${kind}`);
      list.append(template.content.cloneNode(true));
      renumber(list);
      const added = list.lastElementChild;
      settle(added);
      added.querySelector(".input").focus();
    } else if (act === "remove") {
      event.preventDefault();
      rowOf(button).remove();
      renumber(list);
      document.querySelector(`button[value="add:${kind}"]`).focus();
    }
  });

  // A disabled input is not sent; the server must see the row whole.
  document.addEventListener("submit", (event) => {
    for (const input of event.target.querySelectorAll("[data-row] :disabled")) input.disabled = false;
  });

  document.addEventListener("input", (event) => {
    if (event.target.name === "name" && event.target.dataset.lower) {
      const hint = document.getElementById("name-suggestion");
      const text = event.target.value.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 63);
      hint.textContent = text && text !== event.target.value ? `Did you mean ${text}?` : "";
    }
  });

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-row]").forEach(settle));
})();
