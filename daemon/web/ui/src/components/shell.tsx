import type {ComponentChildren} from 'preact';

/** What is around every page: the place for notices, which are read out as they come. */
export function Shell({children}: {children: ComponentChildren}) {
  return <>{children}</>;
}
