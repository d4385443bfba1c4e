import { Button } from "@mantine/core";
import { Table2 } from "lucide-react";
import { type ComponentType, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Visual, VisualBody } from "../../client/visuals";
import { number } from "../../core/format";
import { usePick, useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { RENDERERS } from "./catalogue";
import classes from "./Visuals.module.css";

/** One picture under its title, with how to read it, what was left out, and the same numbers as a table. */
export function VisualFrame({ visual, body }: { visual: Visual; body: VisualBody }) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const names = useNames();
  const [asTable, setAsTable] = useState(false);
  const heading = useId();
  const about = names.subject(visual.subject);
  const label = [pick(visual.title), ...about].join(", ");
  return (
    <section
      className={classes.visual}
      aria-labelledby={heading}
      data-visual={visual.id}
      data-wide={RENDERERS[body.kind].wide || undefined}
    >
      <div className={classes.head}>
        <h3 className={classes.title} id={heading}>
          {pick(visual.title)}
          {about.map((one) => (
            <span key={one} className={classes.about}>
              {one}
            </span>
          ))}
        </h3>
        <Button
          size="compact-xs"
          variant={asTable ? "light" : "subtle"}
          leftSection={<Table2 size={13} aria-hidden />}
          aria-pressed={asTable}
          aria-label={t("visuals.asTableOf", { what: label })}
          onClick={() => setAsTable(!asTable)}
        >
          {t("visuals.asTable")}
        </Button>
      </div>
      <Drawn body={body} asTable={asTable} label={label} />
      <p className={classes.says}>{pick(visual.says)}</p>
      {visual.left_out > 0 && (
        <p className={classes.says}>
          {t("visuals.leftOut", { count: visual.left_out, shown: number(visual.left_out) })}
        </p>
      )}
      {visual.notes.map((one, i) => (
        <p key={i} className={classes.note}>
          {sentence(one)}
        </p>
      ))}
    </section>
  );
}

/** A picture that could not be drawn: hatched, with the reason. */
export function NotDrawn({ visual }: { visual: Visual }) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const names = useNames();
  return (
    <li className={classes.nothing}>
      <span className={classes.title}>{pick(visual.title)}</span>{" "}
      <span>{sentence(names.reason(visual.reason)) || t("visuals.noData")}</span>
    </li>
  );
}

interface DrawnProps {
  body: VisualBody;
  asTable: boolean;
  label: string;
}

function Drawn({ body, asTable, label }: DrawnProps) {
  // The catalogue pairs each kind with the renderer of that very kind; TypeScript cannot follow that through a union.
  const { Picture, Table } = RENDERERS[body.kind] as {
    [which in "Picture" | "Table"]: ComponentType<{ body: VisualBody; label: string }>;
  };
  return asTable ? <Table body={body} label={label} /> : <Picture body={body} label={label} />;
}
