import { Anchor } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import type { HostContext } from "../../client/models";
import { formatCount, formatNumber, formatQuantity, NO_VALUE } from "../../core/text/format";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { CitedSource } from "../findings/CitationLink";
import type { ContextItem, ContextSection } from "./api";
import classes from "./HostContext.module.css";
import { PeerComparison } from "./PeerComparison";

/** Long lists of mostly typical values: only atypical values are visible until the list is expanded. */
const COLLAPSED_SECTIONS = new Set(["setting", "mitigation", "limit"]);
const MAX_ITEMS = 12;

interface Props {
  context: HostContext;
  /** Hide a peer comparison without differences. */
  compact?: boolean;
}

/** Render the host context: machine, kernel, limits, neighbors, changes, and the comparison with peers. */
export function HostContextView({ context, compact = false }: Props) {
  return (
    <div className={classes.context}>
      <div className={classes.sections}>
        {context.sections.map((section) => (
          <Section key={section.id} section={section} />
        ))}
      </div>
      {!(compact && context.peer_comparison.differences.length === 0) && (
        <PeerComparison comparison={context.peer_comparison} />
      )}
    </div>
  );
}

function Section({ section }: { section: ContextSection }) {
  const { t } = useTranslation();
  const [whole, setWhole] = useState(false);
  const first = section.items
    .filter((item) => !COLLAPSED_SECTIONS.has(item.id) || item.atypical)
    .slice(0, MAX_ITEMS);
  const items = whole ? section.items : first;
  const rest = section.items.length - first.length;
  return (
    <section className={classes.section} aria-label={t(`context.section.${section.id}`)}>
      <h3 className={classes.title}>{t(`context.section.${section.id}`)}</h3>
      {section.items.length > 0 && (
        <dl className={classes.items}>
          {items.map((item, at) => (
            <Item key={`${item.id} ${item.name} ${at}`} item={item} />
          ))}
        </dl>
      )}
      {section.items.length === 0 && section.gaps.length === 0 && (
        <p className={classes.explanation}>{t("context.nothing")}</p>
      )}
      {rest > 0 && (
        <button type="button" className={classes.more} aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? t("context.less") : t("context.more", { count: rest })}
        </button>
      )}
      <MissingSources section={section} />
    </section>
  );
}

function Item({ item }: { item: ContextItem }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const time = useTimeFormat();
  const text =
    item.unit === "cores" && typeof item.value === "number"
      ? t("context.cores", { value: formatNumber(item.value) })
      : formatValue(item);
  const label = t(`context.item.${item.id}` as "context.item.model", { defaultValue: item.id });
  return (
    <div className={classes.item} data-atypical={item.atypical ? "" : undefined}>
      <dt>
        {label}
        {item.name && <span className={classes.itemName}> {item.name}</span>}
      </dt>
      <dd>
        <CitedSource place={item.citation ?? undefined} label={label} className={classes.value}>
          {text}
        </CitedSource>
        {item.detail && <span className="dim"> {item.detail}</span>}
        {item.at_s !== null && <span className="num dim"> {time.instant(item.at_s * 1e9, 1e9)}</span>}
        {item.previous_at_s != null && <PreviousValue item={item} label={label} />}
        {item.reported_by && (
          <span className={classes.note}> {t("events.reportedBy", { name: item.reported_by })}</span>
        )}
        {item.link && (
          <Anchor href={item.link} target="_blank" rel="noreferrer noopener nofollow" size="xs">
            {" "}
            {t("events.more")}
          </Anchor>
        )}
        {item.checked && <span className={classes.note}> {t("context.checked")}</span>}
        {item.atypical && (
          <span className={classes.atypical}>
            <TriangleAlert size={12} aria-hidden /> {formatMessage(item.atypical)}
          </span>
        )}
      </dd>
    </div>
  );
}

/** Render the value at the last reading before a change. */
function PreviousValue({ item, label }: { item: ContextItem; label: string }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const previous = item.previous == null ? t("changes.absent") : String(item.previous);
  return (
    <span className="dim">
      {" "}
      {t("changes.previous")}{" "}
      <CitedSource place={item.previous_citation ?? undefined} label={label} className={classes.value}>
        {previous}
      </CitedSource>{" "}
      <span className="num">{time.instant((item.previous_at_s ?? 0) * 1e9, 1e9)}</span>
    </span>
  );
}

function formatValue({ value, unit }: ContextItem): string {
  if (value === null) return NO_VALUE;
  if (typeof value === "string") return value;
  if (unit === "count") return formatCount(value);
  return formatQuantity(value, unit);
}

/** Render the collectors that provide the missing values. */
function MissingSources({ section }: { section: ContextSection }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useNames();
  if (section.gaps.length === 0) return null;
  const reasons = new Set(section.gaps.map((gap) => gap.reason.key));
  const same = reasons.size === 1 ? section.gaps[0]?.reason : undefined;
  return (
    <div className={classes.gaps}>
      <strong>{t("context.notCollected")}</strong>{" "}
      {section.gaps.map((gap) => gap.collectors.map(names.collector).join(" / ")).join(", ")}
      {same && (section.gaps.length === 1 || same.key === "context.no_run") && (
        <span className="dim"> {formatMessage(names.reason(same))}</span>
      )}
    </div>
  );
}
