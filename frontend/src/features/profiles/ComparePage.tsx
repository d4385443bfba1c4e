import { Button, SegmentedControl, Select } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Profile } from "../../client/types";
import { Page, Panel } from "../../components/Page";
import { ErrorLine, Loaded } from "../../components/States";
import { cx } from "../../core/cx";
import { count, duration } from "../../core/format";
import { span } from "../../core/range";
import type { Search } from "../../core/search";
import { useProfiles } from "../../lib/queries";
import { rangeField, textField, useUrlState } from "../../lib/urlState";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./Profile.module.css";
import { type Side, useCreateDiff } from "./queries";

const FIELDS = { ap: textField, bp: textField, a: rangeField, b: rangeField };

/** Two profiles, or two ranges of them, side by side before they are compared: A before or good, B after or bad. */
export function ComparePage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as Search;
  const [state, set] = useUrlState(FIELDS);
  const [normalise, setNormalise] = useState<"share" | "absolute">("share");
  const profiles = useProfiles({});
  const diff = useCreateDiff();
  const filterOf = (side: "a" | "b"): Side["filter"] => {
    const range = state[side];
    const common = { from_ns: range?.from, to_ns: range?.to };
    if (side === "a") return common;
    const whole = (text: string | undefined) => (text === undefined ? undefined : Number(text));
    return {
      ...common,
      cpu: whole(search.cpu),
      pid: whole(search.pid),
      tid: whole(search.tid),
      comm: search.comm,
    };
  };
  const start = () =>
    diff.mutate(
      {
        a: { profile_id: state.ap, filter: filterOf("a") },
        b: { profile_id: state.bp, filter: filterOf("b") },
        normalise,
      },
      { onSuccess: (made) => void navigate({ to: "/diffs/$diffId", params: { diffId: made.id } }) },
    );
  return (
    <Page title={t("compare.title")} width="text">
      <Panel title={t("compare.what")} flush>
        <Loaded query={profiles}>
          {(all) => {
            const ready = all.filter((p) => p.state === "ready");
            return (
              <div className={cx(classes.columns, classes.pad)}>
                <Choice
                  label={t("compare.a")}
                  hint={t("compare.aHint")}
                  profiles={ready}
                  value={state.ap}
                  spanNs={state.a ? span(state.a) : undefined}
                  onChange={(ap) => set({ ap, a: undefined })}
                />
                <Choice
                  label={t("compare.b")}
                  hint={t("compare.bHint")}
                  profiles={ready}
                  value={state.bp}
                  spanNs={state.b ? span(state.b) : undefined}
                  onChange={(bp) => set({ bp, b: undefined })}
                />
              </div>
            );
          }}
        </Loaded>
        <div className={classes.bar}>
          <Button
            variant="default"
            leftSection={<ArrowLeftRight size={14} />}
            onClick={() => set({ ap: state.bp, bp: state.ap, a: state.b, b: state.a })}
          >
            {t("compare.swap")}
          </Button>
          <SegmentedControl
            size="xs"
            aria-label={t("compare.normalise")}
            value={normalise}
            onChange={(value) => setNormalise(value as "share" | "absolute")}
            data={[
              { value: "share", label: t("compare.share") },
              { value: "absolute", label: t("compare.absolute") },
            ]}
          />
          <span className={classes.spring} />
          <Button disabled={!state.ap || !state.bp} loading={diff.isPending} onClick={start}>
            {t("compare.start")}
          </Button>
        </div>
        {diff.error && (
          <div className={classes.pad}>
            <ErrorLine error={diff.error} />
          </div>
        )}
      </Panel>
    </Page>
  );
}

interface ChoiceProps {
  label: string;
  hint: string;
  profiles: readonly Profile[];
  value: string;
  spanNs: number | undefined;
  onChange(id: string): void;
}

function Choice({ label, hint, profiles, value, spanNs, onChange }: ChoiceProps) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const data = profiles.map((p) => ({
    value: p.id,
    label: `${p.host?.name ?? p.label ?? t("profile.imported")} · ${time.instant(p.t0_ns)} · ${t(`profile.kind.${p.kind}` as "profile.kind.on_cpu", { defaultValue: p.kind })} · ${count(p.samples ?? 0)} ${t("profile.samples")}`,
  }));
  return (
    <Select
      label={label}
      description={spanNs === undefined ? hint : t("compare.range", { span: duration(spanNs) })}
      data={data}
      value={value || null}
      onChange={(id) => id && onChange(id)}
      searchable
      nothingFoundMessage={t("profile.none")}
      placeholder={t("compare.choose")}
    />
  );
}
