import { Button, Checkbox, Popover, TextInput } from "@mantine/core";
import { ListFilter } from "lucide-react";
import { memo, useState } from "react";
import type { TrackGroup, TrackRow } from "../../../core/charts/tracks";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Timeline.module.css";

interface Props {
  groups: readonly TrackGroup[];
  selected: ReadonlySet<string>;
  title: (row: TrackRow) => string;
  groupTitle: (id: string) => string;
  onChange: (selected: ReadonlySet<string>) => void;
  onReset: () => void;
}

/** Select the tracks of the timeline. */
export const TrackPicker = memo(function TrackPicker(props: Props) {
  const { groups, selected, title, groupTitle, onChange, onReset } = props;
  const { t } = useTranslation();
  const [q, setQ] = useState("");
  const needle = q.trim().toLowerCase();
  const total = groups.reduce((n, group) => n + group.rows.length, 0);
  const toggle = (key: string) => {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    onChange(next);
  };
  return (
    <Popover position="bottom-end" width={380} withinPortal trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<ListFilter size={14} />}>
          {t("timeline.tracks")} {selected.size}/{total}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <TextInput
          size="xs"
          mb="xs"
          placeholder={t("timeline.findTrack")}
          aria-label={t("timeline.findTrack")}
          value={q}
          onChange={(event) => setQ(event.currentTarget.value)}
        />
        <div className={classes.picker}>
          {groups.map((group) => {
            const rows = group.rows.filter(
              (row) =>
                !needle ||
                row.key.toLowerCase().includes(needle) ||
                title(row).toLowerCase().includes(needle),
            );
            if (rows.length === 0) return null;
            return (
              <div key={group.id} className={classes.pickerGroup}>
                <span className={classes.pickerTitle}>{groupTitle(group.id)}</span>
                {rows.map((row) => (
                  <Checkbox
                    key={row.key}
                    size="xs"
                    label={title(row)}
                    checked={selected.has(row.key)}
                    onChange={() => toggle(row.key)}
                  />
                ))}
              </div>
            );
          })}
        </div>
        <Button variant="subtle" mt="xs" onClick={onReset}>
          {t("timeline.resetTracks")}
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
});
