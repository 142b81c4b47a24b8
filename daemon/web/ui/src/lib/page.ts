// What the server has written into the page for its script.

let parsed: unknown;

/** The data of the page: what the server wrote into the element page-data. */
export function pageData(): unknown {
  parsed ??= JSON.parse(document.getElementById('page-data')?.textContent || 'null');
  return parsed;
}
