// The entry of every page. The server has written what can be read without JavaScript; the page's own module takes over from there.
import {render, type ComponentType} from 'preact';
import {pageData} from './lib/page';
import {Shell} from './components/shell';

/** The modules of the pages, each loaded when its page is open. The names are those that the server writes into data-page. */
const pages: Record<string, () => Promise<{default: ComponentType<{data: never}>}>> = {
  machines: () => import('./pages/machines'),
  machine: () => import('./pages/machine'),
  compose: () => import('./pages/compose'),
  images: () => import('./pages/images'),
};

const page = pages[document.documentElement.dataset['page'] ?? ''];
const main = document.getElementById('main');
if (page && main) {
  const {default: Page} = await page();
  const root = document.createElement('div');
  root.className = 'page';
  render(<Shell><Page data={pageData() as never} /></Shell>, root);
  main.replaceChildren(root);
}
