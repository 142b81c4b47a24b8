// The icons: lines on a grid of 16, drawn for this page.

/** The paths of each icon. */
const paths = {
  add: 'M8 3v10M3 8h10',
  alert: 'M8 2.2 14.4 13.4H1.6ZM8 6.4v3.2M8 11.5v.1',
  back: 'M9.5 3.5 5 8l4.5 4.5',
  check: 'M3 8.500l3.3 3.300L13 4.8',
  close: 'M4 4l8 8M12 4l-8 8',
  console: 'M2 3h12v10H2ZM4.5 6l2 2-2 2M8.5 10.300h3',
  copy: 'M5.5 5.500h8v8h-8ZM10.5 5.500v-3h-8v8h3',
  disk: 'M2.5 4c0-1 2.5-1.7 5.5-1.700s5.5.7 5.5 1.700v8c0 1-2.5 1.7-5.5 1.700S2.5 13 2.5 12ZM2.5 4c0 1 2.5 1.7 5.5 1.700S13.5 5 13.5 4M2.5 8c0 1 2.5 1.7 5.5 1.700s5.5-.7 5.5-1.7',
  down: 'M3.5 6 8 10.5 12.5 6',
  download: 'M8 2.500v8M4.5 7.2 8 10.700l3.5-3.500M2.5 13.500h11',
  edit: 'M3 13l.6-3L10.7 2.900a1.4 1.4 0 0 1 2.4 2.400L6 12.400Z',
  file: 'M3.5 1.800h5.800l3.2 3.200v9.200h-9ZM9 2v3.300h3.3',
  image: 'M2 3h12v10H2ZM2 11l3.5-3.5 3 3L10.5 9l3.5 3M10.3 5.800v.1',
  info: 'M8 14.200A6.2 6.2 0 1 0 8 1.800a6.2 6.2 0 0 0 0 12.400ZM8 7.300v3.700M8 4.900v.1',
  key: 'M7 9a3 3 0 1 1 0-4.200l6.5 0v2.400h-1.500v2H9.600V9ZM4.7 6.900v.1',
  machine: 'M2 2.800h12v8H2ZM5.5 13.500h5M8 10.800v2.7',
  more: 'M3.5 7.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2ZM8 7.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2ZM12.5 7.4a.6.6 0 1 0 0 1.2.6.6 0 0 0 0-1.2Z',
  network: 'M6 2h4v3.500H6ZM2 10.500h4V14H2ZM10 10.500h4V14h-4ZM8 5.500V8M4 10.500V8h8v2.5',
  once: 'M4.5 3.5l6.5 4.5-6.5 4.5ZM13 3.5v9',
  play: 'M5 3l8 5-8 5Z',
  power: 'M8 2v5.500M4.8 4.200a5.2 5.2 0 1 0 6.4 0',
  reboot: 'M13 8a5 5 0 1 1-1.6-3.700M13.2 2v3h-3',
  reset: 'M9 1.8 4 9h3.500L6.8 14.2 12 6.800H8.500Z',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.6 10.6 14 14',
  show: 'M1.5 8C3 5.2 5.3 3.8 8 3.800S13 5.2 14.5 8C13 10.8 10.7 12.2 8 12.200S3 10.8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  sort: 'M8 13V3M4.5 6.5 8 3l3.5 3.5',
  stop: 'M4 4h8v8H4Z',
  template: 'M2.5 5.500h8v8h-8ZM5.5 5.500v-3h8v8h-3',
  trash: 'M2.5 4h11M6 4V2.300h4V4M4 4l.6 9.700h6.800L12 4M6.7 6.800v4M9.3 6.800v4',
  up: 'M3.5 10 8 5.500l4.5 4.5',
  upload: 'M8 10.700v-8M4.5 6 8 2.5 11.5 6M2.5 13.500h11',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.5-3 2.7-4.5 5.5-4.500s5 1.5 5.5 4.5',
} as const;

/** The names of the icons. */
export type IconName = keyof typeof paths;

/** An icon beside a word. With a label it stands alone, and screen readers say the label. */
export function Icon({name, label}: {name: IconName; label?: string}) {
  const about = label ? {role: 'img', 'aria-label': label} as const : {'aria-hidden': true} as const;
  return <svg class="icon" viewBox="0 0 16 16" {...about}><path d={paths[name]} /></svg>;
}
