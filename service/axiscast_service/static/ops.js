/* The filter on the page that lists all ops. */

const filter = document.getElementById("filter"), sections = [...document.querySelectorAll("section")];

filter.oninput = () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hit = ({dataset}) => words.every((word) => dataset.names.includes(word));
  for (const section of sections) {
    const articles = [...section.querySelectorAll("article")];
    for (const article of articles) article.hidden = !hit(article);
    section.hidden = articles.every(({hidden}) => hidden);
  }
  document.getElementById("found").textContent = sections.every(({hidden}) => hidden) ? "No op has this name." : "";
};
