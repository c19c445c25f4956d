"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches); // Swagger UI defines this class
dark.addEventListener("change", followScheme);
followScheme();

/** The accessibility fixes for Swagger UI, keyed by the selector of the elements to fix. */
const MENDED = {
  ".opblock-summary-control a[href]": (link) => link.removeAttribute("href"), // the surrounding button does the same as this link
  "h3, h4, h5": (heading) => { heading.ariaLevel = heading.tagName[1] - 1; }, // Swagger UI uses h3 directly after h1
  ".microlight": (code) => { code.tabIndex = 0; }, // a scrollable block must be reachable with the keyboard
  ".copy-to-clipboard button": (button) => { button.ariaLabel = "Copy"; },
  "select, input, textarea": (control) => {
    const {paramName = control.matches("select") ? "Example" : "Body"} = control.closest("[data-param-name]")?.dataset ?? {};
    control.ariaLabel ??= paramName;
  },
  "[role=region]": (region) => { region.ariaLabel = region.id; },
};
new MutationObserver(() => {
  for (const [selector, mend] of Object.entries(MENDED)) document.querySelectorAll(selector).forEach(mend);
}).observe(document.getElementById("swagger-ui"), {childList: true, subtree: true});

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset],
  layout: "BaseLayout",
});
