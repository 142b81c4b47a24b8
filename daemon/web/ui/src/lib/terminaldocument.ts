// xterm.js puts its rules into style elements and its colours into style attributes. The page's policy allows neither, so xterm.js gets a document
// whose elements of these kinds do the same through the CSSOM: a sheet that the document adopts, and the style object.

/** terminalDocument is the page's document for xterm.js's option documentOverride. */
export function terminalDocument(): Document {
  return new Proxy(document, {
    get(target, name) {
      if (name === 'createElement') return createElement;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

/** withCreateElement calls f while the page's own document makes such elements too: xterm.js 6.0 asks that one for the style of its scroll bar. */
export function withCreateElement(f: () => void): void {
  Object.defineProperty(document, 'createElement', {value: createElement, configurable: true});
  try {
    f();
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}

const plain = (name: string): HTMLElement => Document.prototype.createElement.call(document, name);

function createElement(name: string): HTMLElement {
  if (name === 'style') return styleElement();
  const element = plain(name);
  if (name === 'span') {
    element.setAttribute = (key: string, value: string) => {
      if (key === 'style') element.style.cssText = value;
      else Element.prototype.setAttribute.call(element, key, value);
    };
  }
  return element;
}

/** styleElement is an element whose text is the text of a sheet that the document adopts, for as long as the element is in use. */
function styleElement(): HTMLElement {
  const element = plain('span');
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
