import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import type { Incident } from "../../../client/models";
import { StatusIcon } from "../../../components/StatusIcon";
import { VerdictIcon } from "../../../components/VerdictIcon";
import { formatPercent } from "../../../core/text/format";
import { useNumberName } from "../../../lib/text/useNumberName";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Fix } from "../api";
import { FIX_TONES } from "../chain/CausesAndFixes";
import { type IncidentView, useCauseName } from "../page/useIncidentView";
import classes from "./Answer.module.css";

interface Props {
  incident: Incident;
  view: IncidentView;
  cause: Incident["causes"][number];
  /** Line between the cause and its fixes: the harm. */
  harm?: ReactNode;
}

/** Accepted cause with its harm, its fixes and their effects, and a button to plan or verify a fix. */
export function DecidedCause({ incident, view, cause, harm }: Props) {
  const { t } = useTranslation();
  const name = useCauseName(incident)(cause.cause, cause.hypothesis);
  const own = incident.hypotheses.find((item) => item.key === cause.hypothesis);
  const fixes = incident.fixes.filter((fix) => fix.hypothesis_id === own?.id);
  const unproven = fixes.findLast((fix) => fix.state === "applied" && fix.verifications.length === 0);
  const isOpen = incident.permissions.edit && incident.state !== "resolved";
  return (
    <>
      <div className={classes.row}>
        <div className={classes.headline}>
          <p className={classes.confidence}>
            <VerdictIcon verdict={cause.confidence === "confirmed" ? "supports" : "weak"} />
            {t(`findings.confidence.${cause.confidence}`)}
          </p>
          <h2 className={classes.cause}>{name}</h2>
        </div>
        {isOpen && fixes.length === 0 && (
          <Button onClick={() => view.set({ dialog: "fix", what: cause.hypothesis })}>
            {t("incidents.fix.plan")}
          </Button>
        )}
        {isOpen && unproven && (
          <Button onClick={() => view.set({ dialog: "verify", what: unproven.id })}>
            {t("incidents.verify.title")}
          </Button>
        )}
      </div>
      {harm}
      {fixes.map((fix) => (
        <FixLine key={fix.id} fix={fix} view={view} />
      ))}
    </>
  );
}

function FixLine({ fix, view }: { fix: Fix; view: IncidentView }) {
  const { t } = useTranslation();
  const numberName = useNumberName();
  const last = fix.verifications.findLast((item) => item.result);
  const result = last?.result;
  const sign = (value: number | null) => `${value !== null && value > 0 ? "+" : ""}${formatPercent(value)}`;
  return (
    <p className={classes.fix}>
      <strong>{t("incidents.chain.fix")}</strong>{" "}
      <button
        type="button"
        className={classes.link}
        onClick={() => view.set({ pane: "fixes", what: fix.id }, { push: true })}
      >
        {fix.what}
      </button>{" "}
      <StatusIcon tone={FIX_TONES[fix.state]}>{t(`fixState.${fix.state}`)}</StatusIcon>{" "}
      {result && result.change !== null && (
        <span>
          {numberName(result.primary.read)}{" "}
          <span className="num">
            {sign(result.change)} [{sign(result.low)}, {sign(result.high)}]
          </span>
        </span>
      )}
    </p>
  );
}
