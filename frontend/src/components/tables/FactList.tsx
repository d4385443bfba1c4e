import type { ReactNode } from "react";
import classes from "./FactList.module.css";

/** Render names and values in a row. Values are not rounded or shortened. */
export function FactList({ items }: { items: readonly (readonly [ReactNode, ReactNode])[] }) {
  return (
    <dl className={classes.facts}>
      {items.map(([name, value], i) => (
        <div key={i} className={classes.fact}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
