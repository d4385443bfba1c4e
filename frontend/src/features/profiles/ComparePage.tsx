import { Button, SegmentedControl, Select } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import { useState } from "react";
import type { Profile } from "../../client/models";
import { ErrorLine, Loaded } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { cx } from "../../core/cx";
import type { Search } from "../../core/search";
import { count, duration } from "../../core/text/format";
import { span } from "../../core/time/range";
import { useProfiles } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { rangeField, textField, useUrlState } from "../../lib/urlState";
import { useCreateComparison } from "./api";
import type { Filter } from "./filter";
import classes from "./Profile.module.css";

const FIELDS = { ap: textField, bp: textField, a: rangeField, b: rangeField };

/** Two profiles, or two ranges of them, side by side before they are compared: A before or good, B after or bad. */
export function ComparePage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as Search;
  const [state, set] = useUrlState(FIELDS);
  const [normalize, setNormalize] = useState<"share" | "absolute">("share");
  const profiles = useProfiles({});
  const diff = useCreateComparison();
  const filterOf = (side: "a" | "b"): Filter => {
    const range = state[side];
    const common = { from_ns: range?.from, to_ns: range?.to };
    if (side === "a") return common;
    const numbers = (text: string | undefined) => (text === undefined ? undefined : [Number(text)]);
    return {
      ...common,
      cpu: numbers(search.cpu),
      pid: numbers(search.pid),
      tid: numbers(search.tid),
      comm: search.comm === undefined ? undefined : [search.comm],
    };
  };
  const start = () =>
    diff.mutate(
      {
        a: { profile_id: state.ap, filter: filterOf("a") },
        b: { profile_id: state.bp, filter: filterOf("b") },
        normalize,
      },
      {
        onSuccess: (comparison) =>
          void navigate({ to: "/comparisons/$diffId", params: { diffId: comparison.id } }),
      },
    );
  return (
    <Page title={t("compare.title")} width="text">
      <Panel title={t("compare.what")} flush>
        <Loaded query={profiles}>
          {(all) => {
            const ready = all.filter((p) => p.state === "ready");
            return (
              <div className={cx(classes.columns, classes.pad)}>
                <ProfileSelect
                  label={t("compare.a")}
                  hint={t("compare.aHint")}
                  profiles={ready}
                  value={state.ap}
                  spanNs={state.a ? span(state.a) : undefined}
                  onChange={(ap) => set({ ap, a: undefined })}
                />
                <ProfileSelect
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
            aria-label={t("compare.normalize")}
            value={normalize}
            onChange={(value) => setNormalize(value as "share" | "absolute")}
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

interface ProfileSelectProps {
  label: string;
  hint: string;
  profiles: readonly Profile[];
  value: string;
  spanNs: number | undefined;
  onChange(id: string): void;
}

function ProfileSelect({ label, hint, profiles, value, spanNs, onChange }: ProfileSelectProps) {
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
