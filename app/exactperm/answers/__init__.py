"""The answers as plain data: made by inference, read by JSON, reports and the client. They import nothing of the
package.
"""
