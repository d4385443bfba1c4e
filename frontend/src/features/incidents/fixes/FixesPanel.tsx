import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Fix, Incident } from "../../client/incidents";
import { CommandLine } from "../../components/Copy";
import { Mark } from "../../components/Mark";
import { Empty, ErrorLine } from "../../components/States";
import { cx } from "../../core/cx";
import { useWrite } from "../../lib/incidents";
import { useTimeFormat } from "../../lib/useFormat";
import { FIX_TONES } from "./ChainEnd";
import { Conflict } from "./Conflict";
import classes from "./Fixes.module.css";
import { VerificationPart } from "./VerificationPart";
import type { IncidentView } from "./view";

/** What was changed or is to be: where, how, at what risk, how it is taken back, and whether it worked. */
export function Fixes({ incident, view }: { incident: Incident; view: IncidentView }) {
  const { t } = useTranslation();
  const plan = incident.may.edit && (
    <Button size="xs" variant="default" onClick={() => view.set({ act: "fix", what: "" })}>
      {t("incidents.fix.plan")}
    </Button>
  );
  if (incident.fixes.length === 0)
    return (
      <Empty title={t("incidents.fix.none")} action={plan}>
        {t("incidents.fix.noneText")}
      </Empty>
    );
  return (
    <div>
      {incident.fixes.map((one) => (
        <One key={one.id} incident={incident} view={view} fix={one} />
      ))}
      <p className={classes.plan}>{plan}</p>
    </div>
  );
}

const OPEN = ["before", "waiting", "collecting", "judging"];

function One({ incident, view, fix }: { incident: Incident; view: IncidentView; fix: Fix }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const write = useWrite(incident);
  const hosts = incident.hosts.filter((one) => fix.hosts.includes(one.id)).map((one) => one.name);
  const act = (name: "applied" | "verify") => view.set({ act: name, what: fix.id });
  const live = fix.state !== "planned" && fix.state !== "reverted";
  const busy = fix.verifications.some((one) => OPEN.includes(one.state));
  const measured = fix.verifications.some((one) => one.state === "waiting");
  return (
    <article className={cx(classes.fix, view.what === fix.id && classes.chosen)} id={`fix-${fix.id}`}>
      <header className={classes.head}>
        <h3 className={classes.title}>{fix.what}</h3>
        <Mark tone={FIX_TONES[fix.state]}>{t(`incidents.fix.state.${fix.state}`)}</Mark>
        {fix.applied_at && (
          <span className="num dim">
            {time.iso(fix.applied_at)} {time.zoneName}
          </span>
        )}
        {fix.by && <span className="dim">{fix.by.name}</span>}
        {incident.may.edit && (
          <span className={classes.actions}>
            {fix.state === "planned" && !busy && (
              <Button size="compact-sm" onClick={() => act("verify")}>
                {t("incidents.verify.measure")}
              </Button>
            )}
            {fix.state === "planned" && (
              <Button
                size="compact-sm"
                variant={measured ? "filled" : "default"}
                onClick={() => act("applied")}
              >
                {t("incidents.fix.wasApplied")}
              </Button>
            )}
            {live && !busy && (
              <Button
                size="compact-sm"
                variant={fix.verifications.length ? "default" : "filled"}
                onClick={() => act("verify")}
              >
                {t("incidents.verify.title")}
              </Button>
            )}
            {live && (
              <Button
                size="compact-sm"
                variant="default"
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
      <ErrorLine error={write.error} />
      <Conflict incident={incident} write={write} />
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
        {fix.way_back && (
          <div>
            <dt>{t("playbooks.wayBack")}</dt>
            <dd>{fix.way_back}</dd>
          </div>
        )}
      </dl>
      {fix.verifications.map((one) => (
        <VerificationPart key={one.id} incident={incident} verification={one} />
      ))}
      {live && fix.verifications.length === 0 && (
        <p className={classes.unproven}>{t("incidents.chain.notVerified")}</p>
      )}
    </article>
  );
}
