import { useQuery } from "@tanstack/react-query";
import { get } from "../../../lib/api";

/** Load the stored credentials; the server requires the permission to manage credentials. */
export const useCredentials = () =>
  useQuery({
    queryKey: ["credentials"],
    queryFn: () => get("/credentials", { limit: 200 }).then((page) => page.items),
  });
