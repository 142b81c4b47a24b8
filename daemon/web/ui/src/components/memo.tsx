import {Component, type ComponentClass, type FunctionComponent} from 'preact';
import {useRef} from 'preact/hooks';

/** memo makes a part that is drawn again only when one of its properties is another one. For what is there hundreds of times. */
export function memo<P extends object>(Part: FunctionComponent<P>): ComponentClass<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before: Readonly<Record<string, unknown>> = this.props;
      const now: Readonly<Record<string, unknown>> = next;
      return Object.keys(now).some((k) => now[k] !== before[k]) || Object.keys(before).length !== Object.keys(now).length;
    }

    override render() {
      return <Part {...this.props as P} />;
    }
  };
}

/** useStable gives a function that stays the same and calls the one of the last drawing. */
export function useStable<A extends unknown[], R>(f: (...args: A) => R): (...args: A) => R {
  const last = useRef(f);
  last.current = f;
  return useRef((...args: A) => last.current(...args)).current;
}
