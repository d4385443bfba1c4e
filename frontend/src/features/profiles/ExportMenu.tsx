import { Button, Menu } from "@mantine/core";
import { Download } from "lucide-react";
import type { Profile } from "../../client/models";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { PROFILE_FIELDS, toFilter } from "./filter";

const FORMATS = [
  "folded",
  "svg",
  "speedscope",
  "pprof",
  "firefox",
  "chrome_trace",
  "perf_script",
  "raw",
] as const;

/** Menu that exports the profile with the current filter to other tools. */
export function ExportMenu({ profile }: { profile: Profile }) {
  const { t } = useTranslation();
  const [state] = useUrlState(PROFILE_FIELDS);
  const address = (format: string) => {
    const query = new URLSearchParams({ format });
    for (const [key, value] of Object.entries(toFilter(state)))
      if (value !== undefined && format !== "raw") query.set(key, String(value));
    return `/api/v1/profiles/${profile.id}/export?${query}`;
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<Download size={14} />}>
          {t("profile.export.title")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {FORMATS.map((format) => (
          <Menu.Item key={format} component="a" href={address(format)} download>
            {t(`profile.export.${format}`)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
