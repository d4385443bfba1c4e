import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Finding, Ranking } from "../../client/types";
import { Fold } from "../../components/Fold";
import { Link } from "../../components/Link";
import { BlockSkeleton } from "../../components/States";
import { Verdict } from "../../components/Verdict";
import { bySeverity, figureOf } from "../../core/figures";
import { useOpenDialog } from "../../lib/dialogs";
import { useCauses, useCollectors, useMay } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { CauseCard } from "./CauseCard";
import { Figures } from "./Figures";
import { FindingRow } from "./FindingRow";
import classes from "./Findings.module.css";
import { Missing } from "./Missing";

interface Props {
  ranking: Ranking;
  /** Everything that fired, where that is known beside what it adds up to. */
  findings?: readonly Finding[];
  quiet?: readonly Finding[];
  /** Collectors that were run. */
  tried: readonly string[];
  hostId: string | undefined;
  /** Stands where the causes would, when there is none. */
  none: ReactNode;
  /** Where a cause is named, what it is made of stays folded. */
  compact?: boolean;
}

/** What evidence adds up to: causes, findings, and as plainly what was ruled out, not seen, and not to be relied on. */
export function Answer({ ranking, findings = [], quiet = [], tried, hostId, none, compact = false }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const list = (ids: readonly string[]) => ids.map(names.cause).join(", ");
  const fired = bySeverity(findings.filter((one) => one.grade !== "context"));
  const wide = !compact || ranking.causes.length === 0;
  const spoken = new Set(ranking.causes.map((one) => one.id));
  const open = ranking.open.filter((id) => !spoken.has(id));
  if (!names.ready) return <BlockSkeleton height={320} />;
  return (
    <div className={classes.answer}>
      {ranking.causes.length > 0 ? ranking.causes.map((one) => <CauseCard key={one.id} cause={one} />) : none}
      {fired.length > 0 && (
        <Fold id="fired" open={wide} title={t("findings.fired")} count={fired.length}>
          {fired.map((one, i) => (
            <FindingRow key={`${one.rule}${i}`} finding={one} look="supports" />
          ))}
        </Fold>
      )}
      {ranking.inconclusive.length > 0 && (
        <Fold
          id="inconclusive"
          open={wide}
          title={<Titled look="inconclusive">{t("findings.look.inconclusive")}</Titled>}
          count={ranking.inconclusive.length}
        >
          {ranking.inconclusive.map((one, i) => (
            <FindingRow key={`${one.rule}${i}`} finding={one} look="inconclusive" />
          ))}
        </Fold>
      )}
      {open.length > 0 && (
        <Fold
          id="open"
          open={wide}
          title={<Titled look="absent">{t("findings.open")}</Titled>}
          count={open.length}
        >
          {open.map((id) => (
            <Suspected key={id} id={id} tried={tried} hostId={hostId} />
          ))}
        </Fold>
      )}
      {ranking.ruled_out.length > 0 && (
        <Fold
          id="ruled"
          title={<Titled look="refutes">{t("findings.ruledOut")}</Titled>}
          count={ranking.ruled_out.length}
          hint={list(ranking.ruled_out.map((one) => one.id))}
        >
          {ranking.ruled_out.map((one) => (
            <article key={one.id} className={`${classes.finding} ${classes.look_refutes}`}>
              <header className={classes.findingHead}>
                <Verdict look="refutes" label={t("findings.look.refutes")} />
                <span className={classes.struck}>{names.cause(one.id)}</span>
              </header>
              <Figures
                figures={one.by.map(figureOf)}
                look="refutes"
                label={t("findings.evidenceAgainst", { cause: names.cause(one.id) })}
              />
            </article>
          ))}
        </Fold>
      )}
      {ranking.not_collected.length > 0 && (
        <Fold
          id="missing"
          title={<Titled look="absent">{t("findings.look.absent")}</Titled>}
          count={ranking.not_collected.length}
          hint={t("findings.missingHint")}
        >
          <Missing items={ranking.not_collected} tried={tried} hostId={hostId} />
        </Fold>
      )}
      <Rest id="aside" look="refutes" title={t("findings.setAside")} items={ranking.set_aside} />
      <Rest
        id="context"
        look="context"
        title={t("findings.look.context")}
        note={t("findings.contextText")}
        items={ranking.context}
      />
      <Rest
        id="quiet"
        look="refutes"
        title={t("findings.quiet")}
        note={t("findings.quietText")}
        items={quiet}
      />
      {ranking.not_looked_at.length > 0 && (
        <Fold
          id="unseen"
          title={<Titled look="absent">{t("findings.notLookedAt")}</Titled>}
          count={ranking.not_looked_at.length}
          hint={list(ranking.not_looked_at)}
        >
          <p className={classes.note}>{t("findings.notLookedAtText")}</p>
          <p className={classes.silent}>
            {ranking.not_looked_at.map((id, i) => (
              <span key={id}>
                {i > 0 && " · "}
                <Link to="/rules" search={{ view: "causes", cause: id } as never}>
                  {names.cause(id)}
                </Link>
              </span>
            ))}
          </p>
        </Fold>
      )}
    </div>
  );
}

function Titled({ look, children }: { look: Parameters<typeof Verdict>[0]["look"]; children: ReactNode }) {
  return (
    <>
      <Verdict look={look} />
      {children}
    </>
  );
}

interface RestProps {
  id: string;
  look: "refutes" | "context";
  title: string;
  note?: string;
  items: readonly Finding[];
}

function Rest({ id, look, title, note, items }: RestProps) {
  if (items.length === 0) return null;
  return (
    <Fold id={id} title={<Titled look={look}>{title}</Titled>} count={items.length}>
      {note && <p className={classes.note}>{note}</p>}
      {items.map((one, i) => (
        <FindingRow key={`${one.rule}${i}`} finding={one} look={look} />
      ))}
    </Fold>
  );
}

/** A hypothesis that something made likely and nothing has settled, and what would settle it. */
function Suspected({
  id,
  tried,
  hostId,
}: {
  id: string;
  tried: readonly string[];
  hostId: string | undefined;
}) {
  const { t } = useTranslation();
  const names = useNames();
  const may = useMay();
  const openDialog = useOpenDialog();
  const known = useCollectors().data;
  const tests = (useCauses().data?.get(id)?.tested_by ?? []).filter(
    (one) => !tried.includes(one) && known?.some((each) => each.id === one),
  );
  return (
    <article className={`${classes.finding} ${classes.look_absent}`}>
      <header className={classes.findingHead}>
        <Verdict look="absent" label={t("findings.open")} />
        <Link to="/rules" search={{ view: "causes", cause: id } as never} className={classes.ruleName ?? ""}>
          {names.cause(id)}
        </Link>
        {tests.length > 0 && hostId && may("capture.light") ? (
          <Button
            size="compact-xs"
            variant="default"
            leftSection={<Plus size={12} />}
            onClick={() => openDialog("capture", [hostId], "", tests)}
            className={classes.collect ?? ""}
          >
            {t("findings.collect", { what: tests.map(names.collector).join(", ") })}
          </Button>
        ) : (
          <span className="dim">{t("findings.nothingLeft")}</span>
        )}
      </header>
    </article>
  );
}
