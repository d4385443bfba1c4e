import { Button } from "@mantine/core";
import type { Incident } from "../../../client/models";
import { EmptyState, ErrorLine } from "../../../components/EmptyState";
import { CommandLine } from "../../../components/fields/CopyButton";
import { StatusIcon } from "../../../components/StatusIcon";
import { cx } from "../../../core/cx";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Fix } from "../api";
import { FIX_TONES } from "../chain/CausesAndFixes";
import { EditConflict } from "../page/EditConflict";
import type { IncidentView } from "../page/useIncidentView";
import { VerificationPanel } from "../verification/VerificationPanel";
import classes from "./Fixes.module.css";

/** Planned and applied fixes: hosts, command, risk, rollback and verifications. */
export function FixesPanel({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const plan = incident.permissions.edit && (
    <Button size="xs" variant="default" onClick={() => view.set({ dialog: "fix", what: "" })}>
      {t("incidents.fix.plan")}
    </Button>
  );
  if (incident.fixes.length === 0)
    return (
      <EmptyState title={t("incidents.fix.none")} action={plan}>
        {t("incidents.fix.noneText")}
      </EmptyState>
    );
  return (
    <div>
      {incident.fixes.map((fix) => (
        <FixItem key={fix.id} incident={incident} view={view} fix={fix} />
      ))}
      <p className={classes.plan}>{plan}</p>
    </div>
  );
}

const OPEN_STATES = ["before", "waiting", "collecting", "judging"];

function FixItem({ incident, view, fix }: { incident: Incident; view: IncidentView; fix: Fix }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const write = useIncidentWrite(incident);
  const hosts = incident.hosts.filter((host) => fix.hosts.includes(host.id)).map((host) => host.name);
  const open = (name: "applied" | "verify") => view.set({ dialog: name, what: fix.id });
  const live = fix.state !== "planned" && fix.state !== "reverted";
  const busy = fix.verifications.some((verification) => OPEN_STATES.includes(verification.state));
  const waiting = fix.verifications.find((verification) => verification.state === "waiting");
  const isOff = fix.state === "planned" || fix.state === "reverted";
  const turn = waiting?.kind === "alternating" ? (isOff ? "apply" : "rollBack") : undefined;
  return (
    <article className={cx(classes.fix, view.what === fix.id && classes.chosen)} id={`fix-${fix.id}`}>
      <header className={classes.head}>
        <h3 className={classes.title}>{fix.what}</h3>
        <StatusIcon tone={FIX_TONES[fix.state]}>{t(`fixState.${fix.state}`)}</StatusIcon>
        {fix.applied_at && (
          <span className="num dim">
            {time.iso(fix.applied_at)} {time.zoneName}
          </span>
        )}
        {fix.by && <span className="dim">{fix.by.name}</span>}
        {incident.permissions.edit && (
          <span className={classes.actions}>
            {isOff && !busy && (
              <Button size="compact-sm" onClick={() => open("verify")}>
                {t("incidents.verify.measure")}
              </Button>
            )}
            {(fix.state === "planned" || turn === "apply") && (
              <Button
                size="compact-sm"
                variant={waiting ? "filled" : "default"}
                onClick={() => open("applied")}
              >
                {t("incidents.fix.wasApplied")}
              </Button>
            )}
            {live && !busy && (
              <Button
                size="compact-sm"
                variant={fix.verifications.length ? "default" : "filled"}
                onClick={() => open("verify")}
              >
                {t("incidents.verify.title")}
              </Button>
            )}
            {live && (
              <Button
                size="compact-sm"
                variant={turn === "rollBack" ? "filled" : "default"}
                loading={write.pending}
                onClick={() =>
                  write.send({ method: "PATCH", path: `/fixes/${fix.id}`, body: { state: "reverted" } })
                }
              >
                {t("incidents.fix.wasReverted")}
              </Button>
            )}
          </span>
        )}
      </header>
      {turn && <p className={classes.explanation}>{t(`incidents.verify.turn.${turn}`)}</p>}
      <ErrorLine error={write.error} />
      <EditConflict incident={incident} write={write} />
      {fix.command && <CommandLine text={fix.command} />}
      <dl className={classes.terms}>
        {hosts.length > 0 && (
          <div>
            <dt>{t("incidents.fix.where")}</dt>
            <dd className="mono">{hosts.join(", ")}</dd>
          </div>
        )}
        {fix.risk && (
          <div>
            <dt>{t("playbooks.risk")}</dt>
            <dd>{fix.risk}</dd>
          </div>
        )}
        {fix.rollback && (
          <div>
            <dt>{t("playbooks.rollback")}</dt>
            <dd>{fix.rollback}</dd>
          </div>
        )}
      </dl>
      {fix.verifications.map((verification) => (
        <VerificationPanel key={verification.id} incident={incident} verification={verification} />
      ))}
      {live && fix.verifications.length === 0 && (
        <p className={classes.notVerified}>{t("incidents.chain.notVerified")}</p>
      )}
    </article>
  );
}
