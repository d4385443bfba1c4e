import { Anchor } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { ContextItem, ContextSection, HostContext } from "../../client/types";
import { count, NO_VALUE, number, quantity } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import { Cited } from "../findings/Place";
import { Twins } from "./Twins";
import classes from "./Whereabouts.module.css";

/** Of lists that are long and mostly as they always are, only what is unusual is shown at first. */
const LONG = new Set(["setting", "mitigation", "limit"]);
const SHOWN = 12;

interface Props {
  context: HostContext;
  /** On a screen that has other things to show: without twins that are as healthy and alike. */
  compact?: boolean;
}

/** Where am I: what the machine is, what limits it, who else runs on it, what changed, and whether a twin is well. */
export function Whereabouts({ context, compact = false }: Props) {
  return (
    <div className={classes.where}>
      <div className={classes.sections}>
        {context.sections.map((section) => (
          <Section key={section.id} section={section} />
        ))}
      </div>
      {!(compact && context.twins.differences.length === 0) && <Twins twins={context.twins} />}
    </div>
  );
}

function Section({ section }: { section: ContextSection }) {
  const { t } = useTranslation();
  const [whole, setWhole] = useState(false);
  const first = section.items.filter((one) => !LONG.has(one.id) || one.unusual).slice(0, SHOWN);
  const shown = whole ? section.items : first;
  const rest = section.items.length - first.length;
  return (
    <section className={classes.section} aria-label={t(`context.section.${section.id}`)}>
      <h3 className={classes.title}>{t(`context.section.${section.id}`)}</h3>
      {section.items.length > 0 && (
        <dl className={classes.items}>
          {shown.map((one, at) => (
            <Item key={`${one.id} ${one.name} ${at}`} item={one} />
          ))}
        </dl>
      )}
      {section.items.length === 0 && section.gaps.length === 0 && (
        <p className={classes.nothing}>{t("context.nothing")}</p>
      )}
      {rest > 0 && (
        <button type="button" className={classes.more} aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? t("context.less") : t("context.more", { count: rest })}
        </button>
      )}
      <Gaps section={section} />
    </section>
  );
}

function Item({ item }: { item: ContextItem }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const time = useTimeFormat();
  const shown =
    item.unit === "cores" && typeof item.value === "number"
      ? t("context.cores", { value: number(item.value) })
      : shownValue(item);
  const label = t(`context.item.${item.id}` as "context.item.model", { defaultValue: item.id });
  return (
    <div className={classes.item} data-unusual={item.unusual ? "" : undefined}>
      <dt>
        {label}
        {item.name && <span className={classes.of}> {item.name}</span>}
      </dt>
      <dd>
        <Cited place={item.citation ?? undefined} label={`${label} ${shown}`} className={classes.value}>
          {shown}
        </Cited>
        {item.detail && <span className="dim"> {item.detail}</span>}
        {item.at_s !== null && <span className="num dim"> {time.instant(item.at_s * 1e9, 1e9)}</span>}
        {item.was_at_s != null && <Was item={item} label={label} />}
        {item.told_by && (
          <span className={classes.looked}> {t("events.toldBy", { name: item.told_by })}</span>
        )}
        {item.link && (
          <Anchor
            href={item.link}
            target="_blank"
            rel="noreferrer noopener nofollow"
            underline="always"
            size="xs"
          >
            {" "}
            {t("events.more")}
          </Anchor>
        )}
        {item.looked_at && <span className={classes.looked}> {t("context.lookedAt")}</span>}
        {item.unusual && (
          <span className={classes.unusual}>
            <TriangleAlert size={12} aria-hidden /> {sentence(item.unusual)}
          </span>
        )}
      </dd>
    </div>
  );
}

/** What it was at the last reading before, so that both ends of a change can be looked at. */
function Was({ item, label }: { item: ContextItem; label: string }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const was = item.was == null ? t("changes.gone") : String(item.was);
  return (
    <span className="dim">
      {" "}
      {t("changes.was")}{" "}
      <Cited place={item.was_citation ?? undefined} label={`${label} ${was}`} className={classes.value}>
        {was}
      </Cited>{" "}
      <span className="num">{time.instant((item.was_at_s ?? 0) * 1e9, 1e9)}</span>
    </span>
  );
}

function shownValue({ value, unit }: ContextItem): string {
  if (value === null) return NO_VALUE;
  if (typeof value === "string") return value;
  if (unit === "count") return count(value);
  return quantity(value, unit);
}

/** What is not known is hatched, and names what would tell. */
function Gaps({ section }: { section: ContextSection }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const names = useNames();
  if (section.gaps.length === 0) return null;
  const reasons = new Set(section.gaps.map((one) => one.reason.key));
  const same = reasons.size === 1 ? section.gaps[0]?.reason : undefined;
  return (
    <div className={classes.gaps}>
      <strong>{t("context.notCollected")}</strong>{" "}
      {section.gaps.map((one) => one.collectors.map(names.collector).join(" / ")).join(", ")}
      {same && (section.gaps.length === 1 || same.key === "context.no_run") && (
        <span className="dim"> {sentence(names.reason(same))}</span>
      )}
    </div>
  );
}
