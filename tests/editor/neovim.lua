-- What a user of Neovim does, without a screen: see a diagnostic, hover over it, and apply its quick fix.
-- PYTHON names the interpreter. What was seen is printed as a line of JSON, each beginning with its name.
local function tell(name, value)
  io.stdout:write(name .. " " .. vim.fn.json_encode(value) .. "\n")
end

local client = vim.lsp.start_client({
  name = "triton-doctor",
  cmd = { os.getenv("PYTHON"), "-m", "triton_doctor", "server" },
  root_dir = vim.fn.getcwd(),
})
vim.lsp.buf_attach_client(0, client)
vim.wait(120000, function()
  return #vim.diagnostic.get(0) > 0
end)
local found = vim.diagnostic.get(0)[1]
tell("diagnostic", { code = found.code, line = found.lnum, column = found.col, message = found.message })

local position = { line = found.lnum, character = found.col + 1 }
local document = { uri = vim.uri_from_bufnr(0) }
local hover = vim.lsp.buf_request_sync(0, "textDocument/hover", { textDocument = document, position = position }, 120000)
tell("hover", hover[client].result.contents.value)

local range = { start = position, ["end"] = position }
local actions = vim.lsp.buf_request_sync(
  0,
  "textDocument/codeAction",
  { textDocument = document, range = range, context = { diagnostics = {} } },
  120000
)
local fix = actions[client].result[1]
tell("fix", fix.title)
vim.lsp.util.apply_workspace_edit(fix.edit, "utf-16")
tell("text", vim.api.nvim_buf_get_lines(0, 0, -1, false))
vim.lsp.stop_client(client)
vim.cmd("qall!")
