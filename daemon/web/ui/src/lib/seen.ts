// Connections that stay open only while somebody looks: over HTTP/1.1 a browser has six for all of its tabs.

/** A page that nobody sees keeps its connections for so long, in milliseconds: for who looks at another tab and comes back. What is missed comes when it is
 * open again. */
export const unseen = 10_000;

/** whileSeen opens something at once, closes it when the page is not seen for long or goes into the browser's cache of pages, and opens it again
 * when the page is back, until the function that it returns is called. Either may be asked for what is done already. */
export function whileSeen(open: () => void, close: () => void): () => void {
  let hiding: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(close, unseen);
    else open();
  };
  document.addEventListener('visibilitychange', look);
  addEventListener('pageshow', look);
  addEventListener('pagehide', close);
  open();
  if (document.hidden) look(); // it begins in a tab that nobody sees yet
  return () => {
    clearTimeout(hiding);
    document.removeEventListener('visibilitychange', look);
    removeEventListener('pageshow', look);
    removeEventListener('pagehide', close);
    close();
  };
}
