// Rules that a library makes while it runs. The page's policy allows no text in style elements; a sheet that a script makes is no such text.

/** adoptedStyle is an element whose text is that of a sheet that the document adopts, until the element is removed. It stands where a library expects a style element. */
export function adoptedStyle(): HTMLElement {
  const element = document.createElement('span');
  const sheet = new CSSStyleSheet();
  element.hidden = true;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, 'textContent', {set: (text: string) => sheet.replaceSync(text), get: () => ''});
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
