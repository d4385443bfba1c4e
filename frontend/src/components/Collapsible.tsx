import { UnstyledButton } from "@mantine/core";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { listField, useUrlState } from "../lib/urlState";
import classes from "./Collapsible.module.css";

const FIELDS = { fold: listField };

interface Props {
  /** Id in the query parameter `fold`, present if the state differs from the default. The hash `#id` scrolls to it. */
  id: string;
  title: ReactNode;
  count?: number;
  /** Summary of the content, visible while the section is collapsed. */
  hint?: ReactNode;
  open?: boolean;
  children: ReactNode;
}

/** Render a collapsible section with the number of its items. */
export function Collapsible({ id, title, count, hint, open = false, children }: Props) {
  const [{ fold }, set] = useUrlState(FIELDS);
  const body = useId();
  const toggled = fold.includes(id);
  const visible = open !== toggled;
  const section = useRef<HTMLElement>(null);
  // The browser scrolls to the hash before the content of the page is loaded.
  useEffect(() => {
    if (window.location.hash === `#${id}`) section.current?.scrollIntoView({ block: "start" });
  }, [id]);
  return (
    <section ref={section} className={classes.fold}>
      <h3 className={classes.head}>
        <UnstyledButton
          className={classes.button}
          aria-expanded={visible}
          aria-controls={body}
          onClick={() => set({ fold: toggled ? fold.filter((item) => item !== id) : [...fold, id] })}
        >
          {visible ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
          <span className={classes.title}>{title}</span>
          {count !== undefined && <span className={classes.count}>{count}</span>}
          {!visible && hint && (
            <span className={classes.hint} title={typeof hint === "string" ? hint : undefined}>
              {hint}
            </span>
          )}
        </UnstyledButton>
      </h3>
      <div id={body} hidden={!visible} className={classes.body}>
        {visible && children}
      </div>
    </section>
  );
}
