import type { Profile } from "../../../client/models";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Profile.module.css";

/** What the width of a frame means: each kind of profile has another unit. */
export function KindNote({ profile }: { profile: Profile }) {
  const { t } = useTranslation();
  // The events of one recording of block I/O differ in what they count.
  const name = profile.kind === "block_io" ? `block_io_${profile.event}` : profile.kind;
  const text = t(`profile.width.${name}` as "profile.width.on_cpu", {
    defaultValue: t(`profile.width.unit.${profile.unit}`),
  });
  return <p className={classes.kindNote}>{text}</p>;
}
