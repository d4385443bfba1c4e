import { Boxes, ChevronRight, Crosshair, EyeOff, FileCode, Filter, Layers, Repeat2, X } from "lucide-react";
import type { ReactNode } from "react";
import type { Profile } from "../../../client/models";
import { cx } from "../../../core/cx";
import { moduleName } from "../../../core/profiles/colors";
import { formatCount, formatDuration, formatPercent } from "../../../core/text/format";
import { spanOf } from "../../../core/time/range";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import { weightText } from "../FrameDetails";
import { PROFILE_FIELDS } from "../filter";
import classes from "./Panel.module.css";

interface Props {
  profile: Profile;
  /** Frame names from the root to the zoomed frame, both included. */
  names: readonly string[];
  total: number | undefined;
  samples: number | undefined;
}

const VISIBLE_ENDS = 6;

/** Breadcrumb of the zoom, chips of the stack filters and transformations, and the samples of the selection. */
export function FramePath({ profile, names, total, samples }: Props) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(PROFILE_FIELDS);
  const time = useTimeFormat();
  const isEmpty =
    names.length === 0 &&
    !state.focus &&
    !state.hide.length &&
    !state.norec &&
    !state.group &&
    !state.stack &&
    !state.mod &&
    !state.cg;
  if (isEmpty && !state.b && samples === undefined) return null;
  const skipped = names.length > 2 * VISIBLE_ENDS ? names.length - 2 * VISIBLE_ENDS : 0;
  return (
    <div className={classes.path}>
      <nav className={classes.crumbs} aria-label={t("profile.path")} data-testid="frame-path">
        {names.map((name, at) => {
          if (skipped > 0 && at >= VISIBLE_ENDS && at < names.length - VISIBLE_ENDS)
            return at === VISIBLE_ENDS ? <span key="skipped">… {skipped} …</span> : null;
          const isLast = at === names.length - 1;
          return (
            <span key={at} className={classes.crumb}>
              {at > 0 && <ChevronRight size={11} aria-hidden />}
              {isLast ? (
                <span className={classes.current} aria-current="location" title={name}>
                  {name}
                </span>
              ) : (
                <button
                  type="button"
                  title={name}
                  onClick={() => set({ at: names.slice(1, at + 1) }, { push: true })}
                >
                  {name}
                </button>
              )}
            </span>
          );
        })}
      </nav>
      {state.focus && (
        <Chip
          icon={<Crosshair size={12} />}
          text={state.focus}
          label={t("profile.chip.focus")}
          onClear={() => set({ focus: "", at: [] })}
        />
      )}
      {state.hide.map((name) => (
        <Chip
          key={name}
          icon={<EyeOff size={12} />}
          text={name}
          label={t("profile.chip.hide")}
          onClear={() => set({ hide: state.hide.filter((item) => item !== name), at: [] })}
        />
      ))}
      {state.norec && (
        <Chip
          icon={<Repeat2 size={12} />}
          text={t("profile.fold")}
          label={t("profile.chip.fold")}
          onClear={() => set({ norec: false, at: [] })}
        />
      )}
      {state.group && (
        <Chip
          icon={<Layers size={12} />}
          text={t("profile.group")}
          label={t("profile.chip.group")}
          onClear={() => set({ group: false, at: [] })}
        />
      )}
      {state.stack && (
        <Chip
          icon={<Filter size={12} />}
          text={state.stack}
          label={t("profile.chip.stack")}
          onClear={() => set({ stack: "" })}
        />
      )}
      {state.mod && (
        <Chip
          icon={<FileCode size={12} />}
          text={moduleName(state.mod)}
          label={t("profile.chip.module")}
          onClear={() => set({ mod: "" })}
        />
      )}
      {state.cg && (
        <Chip
          icon={<Boxes size={12} />}
          text={state.cg}
          label={t("profile.chip.cgroup")}
          onClear={() => set({ cg: "" })}
        />
      )}
      {state.b && (
        <button
          type="button"
          className={cx(classes.chip, classes.time)}
          title={`${time.instant(state.b.from, 1e6)} – ${time.instant(state.b.to, 1e6)}`}
          onClick={() => set({ b: undefined }, { push: true })}
        >
          {t("profile.brush", { span: formatDuration(spanOf(state.b)) })} <X size={12} aria-hidden />
        </button>
      )}
      {samples !== undefined && total !== undefined && (
        <span className={classes.selection} data-testid="selection">
          <span className="num">
            {profile.unit === "samples" ? formatCount(samples) : weightText(total, profile.unit)}
          </span>
          {" / "}
          <span className="num">{weightText(profile.weight ?? 0, profile.unit)}</span>{" "}
          {profile.unit === "samples" && t("profile.samples")}
          {" · "}
          <span className="num">
            {formatPercent((profile.weight ?? 0) > 0 ? total / (profile.weight ?? 1) : 0)}
          </span>
        </span>
      )}
    </div>
  );
}

function Chip(props: { icon: ReactNode; text: string; label: string; onClear(): void }) {
  const { t } = useTranslation();
  return (
    <span className={classes.chip} title={`${props.label}: ${props.text}`}>
      {props.icon}
      <span className={classes.chipText}>{props.text}</span>
      <button
        type="button"
        onClick={props.onClear}
        aria-label={t("profile.chip.clear", { what: `${props.label}: ${props.text}` })}
      >
        <X size={12} />
      </button>
    </span>
  );
}
