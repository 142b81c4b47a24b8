/** How many texts are remembered at most; a page is never that far behind. */
const most = 200;

/** An Echo tells what comes back from a page from what the page itself changed: who types fast is ahead of the page, and must not be given an
 * earlier text of his own. */
export class Echo {
  private sent: string[] = [];

  /** say notes a text that the user has made. */
  say(text: string): void {
    this.sent.push(text);
    if (this.sent.length > most) this.sent.shift();
  }

  /** hears takes a text of the page, and reports whether it is one that the user had made. */
  hears(text: string): boolean {
    const at = this.sent.lastIndexOf(text);
    this.sent = at < 0 ? [] : this.sent.slice(at + 1);
    return at >= 0;
  }
}
