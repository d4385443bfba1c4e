import type { ReactNode } from "react";
import type { Finding } from "../../client/models";
import { Collapsible } from "../../components/Collapsible";
import { BlockSkeleton } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { VerdictIcon } from "../../components/VerdictIcon";
import { sortBySeverity, toFigure } from "../../core/text/figures";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Consumer, DeeperCapture, Ranking } from "./api";
import { CauseCard } from "./CauseCard";
import { FindingNumbers } from "./FindingNumbers";
import { FindingRow } from "./FindingRow";
import classes from "./Findings.module.css";
import { Consumers, DeeperCollectors } from "./Leads";
import { MissingData } from "./MissingData";
import { OpenHypotheses } from "./OpenHypotheses";
import { TimeAccounts, UnexplainedTime } from "./TimeAccounts";

interface Props {
  ranking: Ranking;
  /** All matched findings, if known. */
  findings?: readonly Finding[];
  not_matched?: readonly Finding[];
  /** Collectors that were run. */
  triedCollectors: readonly string[];
  hostId: string | undefined;
  /** Content in place of the causes if there are none. */
  none: ReactNode;
  /** If a cause is named, collapse the sections below it. */
  compact?: boolean;
  /** Only of a diagnosis: the largest consumers, and collectors that were not run. */
  consumers?: readonly Consumer[];
  deeper?: readonly DeeperCapture[];
  /** The scope of the diagnosis, as `kind=value`. */
  scope?: string;
}

/** Render the result of a diagnosis: causes and findings, and what was ruled out, not collected or inconclusive. */
export function DiagnosisResult({
  ranking,
  findings = [],
  not_matched = [],
  triedCollectors,
  hostId,
  none,
  compact = false,
  consumers = [],
  deeper = [],
  scope = "",
}: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const list = (ids: readonly string[]) => ids.map(names.cause).join(", ");
  const matched = sortBySeverity(findings.filter((finding) => finding.strength !== "context"));
  const isNamed = ranking.causes.length > 0;
  const first = ranking.causes.filter(({ confidence }, at) => at < (confidence === "possible" ? 3 : 5));
  const others = ranking.causes.filter((namedCause) => !first.includes(namedCause));
  const wide = !compact || !isNamed;
  // Results that an earlier version stored have no time accounts.
  const accounts = ranking.time_accounts ?? [];
  const harm = ranking.harm ?? [];
  const harmKeys = new Set(harm.map(keyOf));
  const context = ranking.context.filter((finding) => !harmKeys.has(keyOf(finding)));
  const namedIds = new Set(ranking.causes.map((namedCause) => namedCause.id));
  const open = ranking.open.filter((id) => !namedIds.has(id));
  if (!names.ready) return <BlockSkeleton height={320} />;
  return (
    <div className={classes.answer}>
      {isNamed
        ? first.map((namedCause, i) => (
            <CauseCard
              key={namedCause.id}
              cause={namedCause}
              accounts={accounts}
              {...(i === 0 && ranking.harm ? { harm: ranking.harm } : {})}
            />
          ))
        : none}
      {others.length > 0 && (
        <Collapsible
          id="causes"
          title={t("findings.otherCauses")}
          count={others.length}
          hint={list(others.map((namedCause) => namedCause.id))}
        >
          {others.map((namedCause) => (
            <CauseCard key={namedCause.id} cause={namedCause} accounts={accounts} />
          ))}
        </Collapsible>
      )}
      <UnexplainedTime ranking={ranking} />
      {harm.length > 0 && (
        <Collapsible id="harm" open={wide} title={t("findings.harm")} count={harm.length}>
          {harm.map((finding, i) => (
            <FindingRow key={`${finding.rule}${i}`} finding={finding} verdict="supports" />
          ))}
        </Collapsible>
      )}
      {accounts.length > 0 && (
        <Collapsible id="time" open={wide} title={t("findings.time.title")} count={accounts.length}>
          <TimeAccounts accounts={accounts} />
        </Collapsible>
      )}
      {!isNamed && <ContextFindings items={context} open />}
      {consumers.length > 0 && (
        <Collapsible id="consumers" open={!isNamed} title={t("findings.consumers")} count={consumers.length}>
          <Consumers items={consumers} />
        </Collapsible>
      )}
      {deeper.length > 0 && (
        <Collapsible
          id="deeper"
          open={!isNamed}
          title={<Section look="absent">{t("findings.deeper")}</Section>}
          count={deeper.length}
        >
          <DeeperCollectors items={deeper} hostId={hostId} scope={scope} />
        </Collapsible>
      )}
      {matched.length > 0 && (
        <Collapsible id="matched" open={wide} title={t("findings.matched")} count={matched.length}>
          {matched.map((finding, i) => (
            <FindingRow key={`${finding.rule}${i}`} finding={finding} verdict="supports" />
          ))}
        </Collapsible>
      )}
      {ranking.inconclusive.length > 0 && (
        <Collapsible
          id="inconclusive"
          open={wide}
          title={<Section look="inconclusive">{t("findings.verdict.inconclusive")}</Section>}
          count={ranking.inconclusive.length}
        >
          {ranking.inconclusive.map((finding, i) => (
            <FindingRow key={`${finding.rule}${i}`} finding={finding} verdict="inconclusive" />
          ))}
        </Collapsible>
      )}
      {open.length > 0 && (
        <Collapsible
          id="open"
          open={wide}
          title={<Section look="absent">{t("findings.open")}</Section>}
          count={open.length}
        >
          <OpenHypotheses ids={open} tried={triedCollectors} hostId={hostId} />
        </Collapsible>
      )}
      {ranking.ruled_out.length > 0 && (
        <Collapsible
          id="ruled"
          title={<Section look="refutes">{t("findings.ruledOut")}</Section>}
          count={ranking.ruled_out.length}
          hint={list(ranking.ruled_out.map((item) => item.id))}
        >
          {ranking.ruled_out.map((item) => (
            <article key={item.id} className={`${classes.finding} ${classes.look_refutes}`}>
              <header className={classes.findingHead}>
                <VerdictIcon verdict="refutes" label={t("findings.verdict.refutes")} />
                <span className={classes.refuted}>{names.cause(item.id)}</span>
              </header>
              <FindingNumbers
                figures={item.by.map(toFigure)}
                verdict="refutes"
                label={t("findings.evidenceAgainst", { cause: names.cause(item.id) })}
              />
            </article>
          ))}
        </Collapsible>
      )}
      {ranking.not_collected.length > 0 && (
        <Collapsible
          id="missing"
          title={<Section look="absent">{t("findings.verdict.absent")}</Section>}
          count={ranking.not_collected.length}
          hint={t("findings.missingHint")}
        >
          <MissingData items={ranking.not_collected} triedCollectors={triedCollectors} hostId={hostId} />
        </Collapsible>
      )}
      <OtherFindings id="refuted" verdict="refutes" title={t("findings.refuted")} items={ranking.refuted} />
      {isNamed && <ContextFindings items={context} />}
      <OtherFindings
        id="not_matched"
        verdict="refutes"
        title={t("findings.notMatched")}
        note={t("findings.notMatchedText")}
        items={not_matched}
      />
      {ranking.not_checked.length > 0 && (
        <Collapsible
          id="unseen"
          title={<Section look="absent">{t("findings.notChecked")}</Section>}
          count={ranking.not_checked.length}
          hint={list(ranking.not_checked)}
        >
          <p className={classes.note}>{t("findings.notCheckedText")}</p>
          <p className={classes.ruleIds}>
            {ranking.not_checked.map((id, i) => (
              <span key={id}>
                {i > 0 && " · "}
                <Link to="/rules" search={{ view: "causes", cause: id }}>
                  {names.cause(id)}
                </Link>
              </span>
            ))}
          </p>
        </Collapsible>
      )}
    </div>
  );
}

function Section({
  look,
  children,
}: {
  look: Parameters<typeof VerdictIcon>[0]["verdict"];
  children: ReactNode;
}) {
  return (
    <>
      <VerdictIcon verdict={look} />
      {children}
    </>
  );
}

const keyOf = ({ rule, subject }: Finding): string => JSON.stringify([rule, subject]);

/** Render matched findings that support no named cause. */
function ContextFindings({ items, open = false }: { items: readonly Finding[]; open?: boolean }) {
  const { t } = useTranslation();
  return (
    <OtherFindings
      id="context"
      verdict="context"
      title={t("findings.verdict.context")}
      note={t("findings.contextText")}
      items={items}
      open={open}
    />
  );
}

interface OtherFindingsProps {
  id: string;
  verdict: "refutes" | "context";
  title: string;
  note?: string;
  items: readonly Finding[];
  open?: boolean;
}

function OtherFindings({ id, verdict, title, note, items, open = false }: OtherFindingsProps) {
  if (items.length === 0) return null;
  return (
    <Collapsible id={id} open={open} title={<Section look={verdict}>{title}</Section>} count={items.length}>
      {note && <p className={classes.note}>{note}</p>}
      {items.map((finding, i) => (
        <FindingRow key={`${finding.rule}${i}`} finding={finding} verdict={verdict} />
      ))}
    </Collapsible>
  );
}
