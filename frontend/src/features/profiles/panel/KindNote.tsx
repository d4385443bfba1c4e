import type { Profile } from "../../../client/models";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Profile.module.css";

/** Meaning of a frame's width, which depends on the kind of profile. */
export function KindNote({ profile }: { profile: Profile }) {
  const { t } = useTranslation();
  // The events of a block I/O recording count different things.
  const name = profile.kind === "block_io" ? `block_io_${profile.event}` : profile.kind;
  const text = t(`profile.width.${name}` as "profile.width.on_cpu", {
    defaultValue: t(`profile.width.unit.${profile.unit}`),
  });
  return <p className={classes.kindNote}>{text}</p>;
}
