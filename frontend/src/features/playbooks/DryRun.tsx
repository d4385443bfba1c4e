import { Button, Select } from "@mantine/core";
import { Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Playbook, PlaybookChain, RunSummary } from "../../client/types";
import { Link } from "../../components/Link";
import { TierTag } from "../../components/Mark";
import { Prose } from "../../components/Prose";
import { Verdict } from "../../components/Verdict";
import { useOpenDialog } from "../../lib/dialogs";
import { usePick, useSentence } from "../../lib/i18n";
import { isActive, useCaptures, useMay, usePlaybooks, useRun } from "../../lib/queries";
import { useUrlState } from "../../lib/urlState";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";
import { FIELDS } from "./fields";
import classes from "./Playbooks.module.css";
import { useAbout } from "./reading";

const NEWEST = 60;

/** The newest runs that have come home; one from the address is among them however old it is. */
export function RunPicker() {
  const { t } = useTranslation();
  const names = useNames();
  const time = useTimeFormat();
  const [{ run }, set] = useUrlState(FIELDS);
  const captures = useCaptures({}, NEWEST);
  const own = useRun(run).data;
  const label = (one: RunSummary, number: number, plan: string) =>
    [
      `#${number} ${names.plan(plan)}`,
      one.host?.name ?? t("captures.noHost"),
      ...(one.started_at ? [time.iso(one.started_at)] : []),
    ].join(" · ");
  const runs = (captures.data?.items ?? []).flatMap((capture) =>
    capture.runs
      .filter((one) => !isActive(one.state) && one.state !== "failed" && one.state !== "cancelled")
      .map((one) => ({ value: one.id, label: label(one, capture.number, capture.plan) })),
  );
  if (own && !runs.some((one) => one.value === own.id))
    runs.unshift({ value: own.id, label: label(own, own.capture.number, own.capture.plan) });
  return (
    <div className={classes.picker}>
      <Select
        size="xs"
        className={classes.run ?? ""}
        label={t("playbooks.run")}
        placeholder={t("playbooks.runHint")}
        data={runs}
        value={run || null}
        onChange={(value) => set({ run: value ?? "" }, { push: true })}
        searchable
        clearable
        clearButtonProps={{ "aria-label": t("playbooks.noRun") }}
        nothingFoundMessage={t("playbooks.nothing")}
        limit={80}
      />
      {run !== "" && (
        <Link to="/runs/$runId" params={{ runId: run }}>
          {t("playbooks.openRun")}
        </Link>
      )}
    </div>
  );
}

/** The one thing to do next: which step, why this one, what it takes and what that costs. */
export function NextStep({ playbook, chain }: { playbook: Playbook; chain: PlaybookChain }) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const names = useNames();
  const may = useMay();
  const openDialog = useOpenDialog();
  const about = useAbout(playbook);
  const host = useRun(chain.run_id).data?.host?.id;
  const { next } = chain;
  if (!next)
    return (
      <p className={classes.nothingLeft}>
        <Verdict look={chain.gaps.length > 0 ? "absent" : "supports"} />
        {t(chain.gaps.length > 0 ? "playbooks.nothingLeft" : "playbooks.answered")}
      </p>
    );
  const at = playbook.steps.findIndex((one) => one.id === next.step);
  const step = playbook.steps[at];
  const { sign, says } = about(step?.about ?? "");
  const why = {
    ...next.why,
    params: {
      ...next.why.params,
      about: says === sign ? sign : `${sign} (${says})`,
      tier: t(`tier.${next.tier}.name`),
    },
  };
  return (
    <section className={classes.nextStep} aria-label={t("playbooks.next")}>
      <p className={classes.nextHead}>
        <strong>{t("playbooks.next")}</strong>{" "}
        <Link to="." search={true as never} hash={`step-${next.step}`}>
          {at + 1} {pick(step?.asks)}
        </Link>
      </p>
      <p className={classes.line}>{sentence(why)}</p>
      {next.collectors.length === 0 ? (
        <p className={classes.look}>
          <span className={classes.dim}>{t("playbooks.person")}</span> <Prose text={step?.look} />
        </p>
      ) : (
        <p className={classes.take}>
          {host && may(`capture.${next.tier}`) && (
            <Button
              size="xs"
              leftSection={<Plus size={13} />}
              onClick={() => openDialog("capture", [host], "", next.collectors)}
              className={classes.collect ?? ""}
            >
              {t("findings.collect", { what: next.collectors.map(names.collector).join(", ") })}
            </Button>
          )}
          <TierTag tier={next.tier} />
          <span className="mono dim">{next.collectors.join(" ")}</span>
        </p>
      )}
    </section>
  );
}

/** Where the walk ends in another playbook, the same run goes along. */
export function LeadsTo({ id }: { id: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  const [{ run }] = useUrlState(FIELDS);
  const title = pick(usePlaybooks().data?.find((one) => one.id === id)?.title) || id;
  return (
    <p className={classes.leadsTo}>
      {t("playbooks.leadsTo")}{" "}
      <Link to="/playbooks" search={{ playbook: id, run } as never}>
        {title}
      </Link>
    </p>
  );
}
