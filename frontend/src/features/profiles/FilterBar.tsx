import { Button, Checkbox, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useDebouncedCallback, useHotkeys } from "@mantine/hooks";
import { GitCompareArrows, Search, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Profile } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { ButtonLink } from "../../components/Link";
import { duration, percent } from "../../core/text/format";
import { span } from "../../core/time/range";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { type Facets, useFacets } from "./api";
import { type Filter, isFiltered, PROFILE_FIELDS, toSearch, VIEWS, type View } from "./filter";
import classes from "./Profile.module.css";

interface Props {
  profile: Profile;
  filter: Filter;
  matches: { share: number } | undefined;
  searchError: unknown;
  onCompare?: (() => void) | undefined;
  comparing: boolean;
}

/** View, process, thread, CPU and search; everything is in the address. */
export function FilterBar({ profile, filter, matches, searchError, onCompare, comparing }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const facets = useFacets(profile.id, filter, true).data;
  const total = facets?.cpus.reduce((sum, item) => sum + item.weight, 0) ?? 0;
  const share = (weight: number) => percent(total > 0 ? weight / total : 0);
  const threads = facets?.threads.filter((item) => state.pid === undefined || item.pid === state.pid) ?? [];
  return (
    <div className={classes.bar}>
      <SegmentedControl
        size="xs"
        aria-label={t("profile.view.label")}
        value={state.view}
        onChange={(value) => set({ view: value as View, root: "" })}
        data={VIEWS.map((value) => ({ value, label: t(`profile.view.${value}`) }))}
      />
      <Facet
        label={t("profile.process")}
        value={state.pid}
        onChange={(pid) => set({ pid, tid: undefined })}
        options={(facets?.processes ?? []).map((p) => [p.pid, `${p.comm} ${p.pid} · ${share(p.weight)}`])}
      />
      <Facet
        label={t("profile.thread")}
        value={state.tid}
        onChange={(tid) => set({ tid })}
        options={perThread(threads).map((p) => [p.tid, `${p.comm} ${p.tid} · ${share(p.weight)}`])}
      />
      <Facet
        label={t("profile.cpu")}
        value={state.cpu}
        onChange={(cpu) => set({ cpu })}
        options={(facets?.cpus ?? []).map((c) => [c.cpu, `CPU ${c.cpu} · ${share(c.weight)}`])}
      />
      <Checkbox
        size="xs"
        label={t("profile.hideIdle")}
        checked={state.idle}
        onChange={(event) => set({ idle: event.currentTarget.checked })}
      />
      <SearchField />
      {matches && (
        <span className="num" data-testid="search-share">
          {percent(matches.share)}
        </span>
      )}
      <ErrorLine error={searchError} />
      <span className={classes.spring} />
      {state.b && (
        <Button
          variant="subtle"
          rightSection={<X size={13} />}
          title={`${time.instant(state.b.from, 1e6)} – ${time.instant(state.b.to, 1e6)}`}
          onClick={() => set({ b: undefined }, { push: true })}
        >
          {t("profile.brush", { span: duration(span(state.b)) })}
        </Button>
      )}
      {onCompare ? (
        <Button leftSection={<GitCompareArrows size={14} />} loading={comparing} onClick={onCompare}>
          {t("profile.compareBrushes")}
        </Button>
      ) : (
        <ButtonLink
          variant="default"
          leftSection={<GitCompareArrows size={14} />}
          to="/compare"
          search={{ bp: profile.id, ...(isFiltered(filter) ? toSearch(filter) : {}) }}
        >
          {t("profile.compare")}
        </ButtonLink>
      )}
    </div>
  );
}

/** One entry per thread: a thread that was renamed while it was sampled comes once per name. */
export function perThread(threads: Facets["threads"]): Facets["threads"] {
  const matches = new Map<number, Facets["threads"][number]>();
  for (const thread of threads) {
    const known = matches.get(thread.tid);
    matches.set(thread.tid, known ? { ...known, weight: known.weight + thread.weight } : thread);
  }
  return [...matches.values()];
}

interface FacetProps {
  label: string;
  value: number | undefined;
  options: (readonly [number, string])[];
  onChange(value: number | undefined): void;
}

function Facet({ label, value, options, onChange }: FacetProps) {
  const data = options.slice(0, 500).map(([id, text]) => ({ value: String(id), label: text }));
  if (value !== undefined && !data.some((item) => item.value === String(value)))
    data.unshift({ value: String(value), label: `${label} ${value}` });
  return (
    <Select
      size="xs"
      className={classes.facet}
      aria-label={label}
      placeholder={label}
      data={data}
      value={value === undefined ? null : String(value)}
      onChange={(next) => onChange(next === null ? undefined : Number(next))}
      clearable
      searchable
      comboboxProps={{ width: 280, position: "bottom-start" }}
    />
  );
}

function SearchField() {
  const { t } = useTranslation();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const [text, setText] = useState(state.q);
  const input = useRef<HTMLInputElement>(null);
  const commit = useDebouncedCallback((q: string) => set({ q }), 250);
  useEffect(() => setText(state.q), [state.q]);
  useHotkeys([["/", () => input.current?.focus()]]);
  return (
    <TextInput
      ref={input}
      size="xs"
      className={classes.search}
      aria-label={t("profile.search")}
      placeholder={`${t("profile.search")}  /`}
      leftSection={<Search size={13} />}
      value={text}
      maxLength={200}
      onChange={(event) => {
        setText(event.currentTarget.value);
        commit(event.currentTarget.value.trim());
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        setText("");
        set({ q: "" });
        input.current?.blur();
      }}
    />
  );
}
