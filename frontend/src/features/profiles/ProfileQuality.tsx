import { useTranslation } from "react-i18next";
import type { Profile } from "../../client/types";
import { Mark } from "../../components/Mark";
import { count, duration, percent } from "../../core/format";

const FEW_SAMPLES = 500;
const MUCH_UNKNOWN = 0.3;
const MUCH_LOST = 0.01;

/** How far the profile can be trusted, beside its title: samples, lost, unknown; loud where it is poor. */
export function Quality({ profile }: { profile: Profile }) {
  const { t } = useTranslation();
  if (profile.state !== "ready") return null;
  const samples = profile.samples ?? 0;
  const lost = profile.lost ?? 0;
  const lostShare = lost / Math.max(1, samples + lost);
  const unknown = profile.unknown_share;
  const spanNs = profile.t0_ns !== null && profile.t1_ns !== null ? profile.t1_ns - profile.t0_ns : null;
  return (
    <>
      <Fact
        name={t("profile.samples")}
        value={count(samples)}
        poor={samples < FEW_SAMPLES && t("profile.few")}
      />
      {spanNs !== null && <Fact name={t("profile.span")} value={duration(spanNs)} />}
      <Fact
        name={t("profile.lost")}
        value={count(lost)}
        poor={lostShare > MUCH_LOST && t("profile.muchLost")}
      />
      <Fact
        name={t("profile.unknown")}
        value={percent(unknown)}
        poor={unknown !== null && unknown > MUCH_UNKNOWN && t("profile.muchUnknown")}
      />
      <span className="mono dim">{profile.event}</span>
    </>
  );
}

function Fact({ name, value, poor = false }: { name: string; value: string; poor?: string | false }) {
  const text = (
    <>
      {name} <span className="num">{value}</span>
    </>
  );
  return poor ? (
    <Mark tone="warn" title={poor}>
      {text}
    </Mark>
  ) : (
    <span>{text}</span>
  );
}
