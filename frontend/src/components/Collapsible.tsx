import { UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useId } from "react";
import { listField, useUrlState } from "../lib/urlState";
import classes from "./Fold.module.css";

const FIELDS = { fold: listField };

interface Props {
  /** Stands in the address (`fold=`) when it is not as it is at first. */
  id: string;
  title: ReactNode;
  count?: number;
  /** Says what is inside while it is closed. */
  hint?: ReactNode;
  open?: boolean;
  children: ReactNode;
}

/** A part that opens and closes, and says how much is in it. */
export function Fold({ id, title, count, hint, open = false, children }: Props) {
  const [{ fold }, set] = useUrlState(FIELDS);
  const body = useId();
  const toggled = fold.includes(id);
  const shown = open !== toggled;
  return (
    <section className={classes.fold}>
      <h3 className={classes.head}>
        <UnstyledButton
          className={classes.button}
          aria-expanded={shown}
          aria-controls={body}
          onClick={() => set({ fold: toggled ? fold.filter((one) => one !== id) : [...fold, id] })}
        >
          {shown ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
          <span className={classes.title}>{title}</span>
          {count !== undefined && <span className={classes.count}>{count}</span>}
          {!shown && hint && <span className={classes.hint}>{hint}</span>}
        </UnstyledButton>
      </h3>
      <div id={body} hidden={!shown} className={classes.body}>
        {shown && children}
      </div>
    </section>
  );
}
